// Package list provides a doubly linked list whose links are stored in the elements.
//
// An element has a [Node] as a field, so adding the element to a [List] allocates nothing. An element can be removed
// from any position in constant time. A Node is in one list at a time; an element that has to be in two lists needs two
// Nodes. A List has no lock.
package list

// Node is the place of an element in a List. The zero value is in no list. Do not copy a Node that is in a list.
type Node[T any] struct {
	prev, next *Node[T]
	owner      *T // nil: in no list
}

// Next returns the element behind n. Next returns nil if n is in no list or belongs to the last element.
func (n *Node[T]) Next() *T { return n.next.element() }

// element returns the element that has n, or nil if n is nil.
func (n *Node[T]) element() *T {
	if n == nil {
		return nil
	}
	return n.owner
}

// List is a list of elements. The zero value is an empty list. Do not copy a List that is not empty.
//
//	first ⇄ … ⇄ last, each with an owner; n of them
type List[T any] struct {
	first, last *Node[T]
	n           int
}

// Len returns the number of elements.
func (l *List[T]) Len() int { return l.n }

// First returns the first element, or nil if l is empty.
func (l *List[T]) First() *T { return l.first.element() }

// Push appends owner to l. n is a Node of owner that is in no list.
func (l *List[T]) Push(n *Node[T], owner *T) {
	n.prev, n.owner = l.last, owner
	if l.last != nil {
		l.last.next = n
	} else {
		l.first = n
	}
	l.last = n
	l.n++
}

// Remove removes the element that has n from l. Remove reports false, and does nothing, if n is in no list. n must not
// be in another list than l.
func (l *List[T]) Remove(n *Node[T]) bool {
	if n.owner == nil {
		return false
	}
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		l.first = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	} else {
		l.last = n.prev
	}
	*n = Node[T]{}
	l.n--
	return true
}

// PopFirst removes and returns the first element, or returns nil if l is empty.
func (l *List[T]) PopFirst() *T { return l.pop(l.first) }

// PopLast removes and returns the last element, or returns nil if l is empty.
func (l *List[T]) PopLast() *T { return l.pop(l.last) }

func (l *List[T]) pop(n *Node[T]) *T {
	if n == nil {
		return nil
	}
	owner := n.owner
	l.Remove(n)
	return owner
}
