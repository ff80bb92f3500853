package gallop

import (
	"context"
	"time"
)

// maxWaiters is how many calls may wait for a connection to one host.
const maxWaiters = 1 << 16

// defaultConnWait is how long a call without a deadline waits for a connection.
const defaultConnWait = 3 * time.Second

// waiter is a call that waits for a connection. It is given one, or nil, which is a
// place for a new one; either is its to use or to give back.
type waiter struct {
	got        chan *clientConn // with room for one
	prev, next *waiter
	queued     bool
}

// waiterList is who waits, in order.
type waiterList struct {
	first, last *waiter
	n           int
}

func (l *waiterList) push(w *waiter) {
	w.prev, w.next, w.queued = l.last, nil, true
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
	l.n++
}

func (l *waiterList) remove(w *waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.last = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	l.n--
}

// give lets the first who waits have cc, or a place if that is nil. It reports whether
// there is one.
func (l *waiterList) give(cc *clientConn) bool {
	w := l.first
	if w == nil {
		return false
	}
	l.remove(w)
	w.got <- cc
	return true
}

// await waits for a connection, or a place for a new one: then it returns nil. p is
// locked, and is not afterwards.
func (p *connPool) await(ctx context.Context, deadline time.Time) (*clientConn, error) {
	limit, late := p.waitLimit(deadline)
	if limit <= 0 || p.waiters.n >= maxWaiters {
		p.mu.Unlock()
		return nil, late
	}
	w := &waiter{got: make(chan *clientConn, 1)}
	p.waiters.push(w)
	p.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case cc := <-w.got:
		return cc, nil
	case <-ctx.Done():
		return p.giveUp(w, endedBy(ctx))
	case <-timer.C:
		return p.giveUp(w, late)
	}
}

// waitLimit returns how long a call may wait, and with which error it stops.
func (p *connPool) waitLimit(deadline time.Time) (time.Duration, error) {
	limit := p.host.set.connWait
	if limit < 0 {
		return 0, ErrNoFreeConns
	}
	if !deadline.IsZero() {
		if left := time.Until(deadline); limit == 0 || left < limit {
			return left, ErrTimeout
		}
	} else if limit == 0 {
		limit = defaultConnWait
	}
	return limit, ErrNoFreeConns
}

// giveUp ends the wait with err. What was given in this very moment goes to the next.
func (p *connPool) giveUp(w *waiter, err error) (*clientConn, error) {
	p.mu.Lock()
	queued := w.queued
	if queued {
		p.waiters.remove(w)
	}
	p.mu.Unlock()
	if !queued {
		if cc := <-w.got; cc != nil {
			p.put(cc)
		} else {
			p.leave()
		}
	}
	return nil, err
}
