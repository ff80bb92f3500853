package raw

// queue is a first-in, first-out queue. The zero value is empty. It keeps its memory.
type queue[T any] struct {
	items []T
	at    int // items before at were taken
}

func (q *queue[T]) len() int { return len(q.items) - q.at }

func (q *queue[T]) push(item T) { q.items = append(q.items, item) }

// first returns the first item, which must exist.
func (q *queue[T]) first() T { return q.items[q.at] }

// pop removes the first item, which must exist.
func (q *queue[T]) pop() (item T) {
	var none T
	item, q.items[q.at] = q.items[q.at], none
	if q.at++; q.at == len(q.items) {
		q.items, q.at = q.items[:0], 0
	} else if q.at >= 256 && q.at > len(q.items)/2 {
		n := copy(q.items, q.items[q.at:])
		clear(q.items[n:])
		q.items, q.at = q.items[:n], 0
	}
	return item
}

// popLast removes the last item, which must exist.
func (q *queue[T]) popLast() (item T) {
	var none T
	last := len(q.items) - 1
	item, q.items[last] = q.items[last], none
	if q.items = q.items[:last]; q.at == last {
		q.items, q.at = q.items[:0], 0
	}
	return item
}
