package poll

// againQueue is a queue of connections that a loop serves without an event. The zero value is empty.
//
//	conns    served | waiting
//	         first     len(conns)
type againQueue struct {
	conns []*Conn
	first int
}

func (q *againQueue) len() int { return len(q.conns) - q.first }

// push adds a connection. If most of a full slice was served, it moves the others to the front instead of growing.
func (q *againQueue) push(c *Conn) {
	if len(q.conns) == cap(q.conns) && q.first > q.len() {
		n := copy(q.conns, q.conns[q.first:])
		clear(q.conns[n:])
		q.conns, q.first = q.conns[:n], 0
	}
	q.conns = append(q.conns, c)
}

// pop removes the connection that has waited for longest. There must be one.
func (q *againQueue) pop() *Conn {
	c := q.conns[q.first]
	q.conns[q.first] = nil
	if q.first++; q.len() == 0 {
		q.conns, q.first = q.conns[:0], 0
		if cap(q.conns) > 1024 {
			q.conns = nil
		}
	}
	return c
}
