package gallop

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// maxWaiters is how many calls may wait for a connection to one host.
const maxWaiters = 1 << 16

// maxConnWait is how long a call waits for one at most: what is more is for ever, and would not
// fit a moment.
const maxConnWait = time.Duration(1) << 62

// waitGrain is how late a wait may end: all are looked at for the sake of one.
const waitGrain = time.Millisecond

// waiter is a call that waits for a connection. It is given one, or nil, which is a
// place for a new one, either being its to use or to give back; or an error.
//
// Calls wait on condition variables: unlike channels and timers, those can be used
// again by whoever waits next, in a bubble of testing/synctest as well.
type waiter struct {
	over       sync.Cond   // its lock is a waiterLock
	isOver     atomic.Bool // cc and err are there
	cc         *ClientConn
	err        error
	until      moment // when it gives up,
	late       error  // with this error
	prev, next *waiter
	queued     bool
}

var waiterObjects = sync.Pool{New: func() any { return new(waiter) }}

// waiterLock is the lock of a pool for those who wait, which they hold when they begin
// to, and have no use for afterwards.
type waiterLock struct{ p *connPool }

func (l *waiterLock) Lock()   {}
func (l *waiterLock) Unlock() { l.p.mu.Unlock() }

// end ends the wait. The pool is locked.
func (w *waiter) end(cc *ClientConn, err error) {
	w.cc, w.err = cc, err
	w.isOver.Store(true)
	w.over.Signal()
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
func (l *waiterList) give(cc *ClientConn) bool {
	w := l.first
	if w == nil {
		return false
	}
	l.remove(w)
	w.end(cc, nil)
	return true
}

// await waits for a connection, or a place for a new one: then it returns nil. p is
// locked, and is not afterwards.
func (p *connPool) await(ctx context.Context, deadline time.Time) (*ClientConn, error) {
	limit, late := p.waitLimit(deadline)
	limit = min(limit, maxConnWait)
	if limit <= 0 || p.waiters.n >= maxWaiters {
		p.mu.Unlock()
		return nil, late
	}
	w := waiterObjects.Get().(*waiter)
	w.over.L, w.until, w.late = &p.lock, momentNow()+moment(limit), late
	p.waiters.push(w)
	p.expireBy(w.until, limit)
	reusable := true
	if ctx.Done() == nil {
		w.over.Wait() // unlocks
	} else {
		reusable = p.awaitWith(ctx, w)
	}
	w.isOver.Load() // what was written before it was stored can be read now
	cc, err := w.cc, w.err
	if reusable {
		*w = waiter{}
		waiterObjects.Put(w)
	}
	return cc, err
}

// awaitWith waits as long as ctx lasts. It reports whether w can be used again: if ctx
// ends at the same time, whoever ends the wait may come late.
func (p *connPool) awaitWith(ctx context.Context, w *waiter) (reusable bool) {
	p.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { p.giveUp(w, endedBy(ctx)) })
	p.mu.Lock()
	if w.isOver.Load() {
		p.mu.Unlock()
	} else {
		w.over.Wait()
	}
	return stop()
}

// waitLimit returns how long a call may wait, and with which error it stops.
func (p *connPool) waitLimit(deadline time.Time) (time.Duration, error) {
	limit := p.host.set.connWait
	if limit == 0 {
		return 0, ErrNoFreeConns
	}
	if limit < 0 {
		limit = maxConnWait
	}
	if !deadline.IsZero() {
		if left := time.Until(deadline); left < limit {
			return left, ErrTimeout
		}
	}
	return limit, ErrNoFreeConns
}

// giveUp ends a wait with err, unless it is over.
func (p *connPool) giveUp(w *waiter, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.queued {
		p.waiters.remove(w)
		w.end(nil, err)
	}
}

// expireBy sees to it that expire runs at the given moment, which is that far off, or
// before. One timer does for all who wait: mostly they have equally long, so that it
// seldom has to be set. It is left to run when nobody waits any more.
func (p *connPool) expireBy(at moment, in time.Duration) {
	if p.expiry == 0 || at < p.expiry {
		p.expiry = at
		time.AfterFunc(in, p.expire)
	}
}

// expire ends the waits whose time has come.
func (p *connPool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, next := momentNow(), moment(0)
	for w := p.waiters.first; w != nil; {
		following := w.next
		if w.until <= now {
			p.waiters.remove(w)
			w.end(nil, w.late)
		} else if next == 0 || w.until < next {
			next = w.until
		}
		w = following
	}
	if p.expiry <= now { // or else this is an older timer than the one that counts
		p.expiry = 0
	}
	if next != 0 {
		next = max(next, now+moment(waitGrain))
		p.expireBy(next, time.Duration(next-now))
	}
}
