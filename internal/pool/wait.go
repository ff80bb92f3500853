package pool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/list"
)

// maxWaiters is how many calls may wait for a connection to one host.
const maxWaiters = 1 << 16

// maxWait is the longest that a call waits for a connection. It stands for forever: a longer wait would overflow a
// Moment.
const maxWait = time.Duration(1) << 62

// waitGrain is how late a wait may end, so that the waits that end close together need only one timer.
const waitGrain = time.Millisecond

// waiter is a call that waits for a connection. It gets a connection, the place for a new connection (m and err are
// nil), or an error. The call must use the connection or the place, or give it back.
//
// Calls wait on condition variables. The next waiter can reuse a condition variable even in another bubble of
// testing/synctest, unlike a channel or a timer.
type waiter struct {
	over   sync.Cond   // its lock is a waiterLock
	isOver atomic.Bool // m and err are there
	m      *Member
	err    error
	fresh  bool // it replaces the connection that it gets, which other calls must not use
	leads  bool // the place counts in Pool.leading

	follows  bool // it waits for the dial of another call, and not at the limit
	deadline time.Time
	until    Moment            // when it gives up,
	late     error             // with this error
	place    list.Node[waiter] // in Pool.waiters
}

var waiterObjects = sync.Pool{New: func() any { return new(waiter) }}

// waiterLock is the lock of a pool as waiters use it. A waiter holds the lock when it begins to wait, and does not need
// it afterwards. So Lock does nothing.
type waiterLock struct{ p *Pool }

func (l *waiterLock) Lock()   {}
func (l *waiterLock) Unlock() { l.p.mu.Unlock() }

// end ends the wait. The pool is locked.
func (w *waiter) end(m *Member, err error) {
	w.m, w.err = m, err
	w.isOver.Store(true)
	w.over.Signal()
}

// giveWaiter gives room on m to the first waiter that can use it, and reports whether there is one. A waiter that needs a
// fresh connection closes m. p is locked.
func (p *Pool) giveWaiter(m *Member) bool {
	w := p.waiters.First()
	for m.calls > 0 && w != nil && w.fresh {
		w = w.place.Next()
	}
	if w == nil {
		return false
	}
	p.waiters.Remove(&w.place)
	m.calls++
	if w.fresh {
		p.setRoom(m, gone)
	}
	w.end(m, nil)
	return true
}

// givePlace gives the place for a new connection to the first waiter, and reports whether there is one. p is locked.
func (p *Pool) givePlace() bool {
	w := p.waiters.PopFirst()
	if w == nil {
		return false
	}
	if !w.fresh && p.isShared() {
		w.leads = true
		p.leading++
	}
	w.end(nil, nil)
	return true
}

// await waits for a connection. If it returns neither a connection nor an error, the caller has a place for a new one,
// and leads says whether the place counts in p.leading. A call that needs a fresh connection gets only connections that no
// other call uses. p is locked when await is called, and unlocked when it returns.
func (p *Pool) await(ctx context.Context, deadline time.Time, fresh bool) (m *Member, leads bool, err error) {
	follows := !fresh && p.mustFollow()
	limit, late := p.waitLimit(deadline, follows)
	limit = min(limit, maxWait)
	if limit <= 0 || p.waiters.Len() >= maxWaiters {
		p.mu.Unlock()
		return nil, false, late
	}
	w := waiterObjects.Get().(*waiter)
	w.over.L, w.fresh, w.until, w.late = &p.lock, fresh, Now()+Moment(limit), late
	w.follows, w.deadline = follows, deadline
	p.waiters.Push(&w.place, w)
	p.expireBy(w.until, limit)
	reusable := true
	if ctx.Done() == nil {
		w.over.Wait() // unlocks
	} else {
		reusable = p.awaitWith(ctx, w)
	}
	w.isOver.Load() // what was written before it was stored can be read now
	m, leads, err = w.m, w.leads, w.err
	if reusable {
		*w = waiter{}
		waiterObjects.Put(w)
	}
	return m, leads, err
}

// awaitWith waits until w is over or ctx is done. It reports whether w can be reused. If ctx was done, giveUp may still
// use w.
func (p *Pool) awaitWith(ctx context.Context, w *waiter) (reusable bool) {
	p.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { p.giveUp(w, p.opts.Ended(ctx)) })
	p.mu.Lock()
	if w.isOver.Load() {
		p.mu.Unlock()
	} else {
		w.over.Wait()
	}
	return stop()
}

// waitLimit returns how long a call may wait, and with which error it stops. A call that follows a dial may wait until its
// deadline.
func (p *Pool) waitLimit(deadline time.Time, follows bool) (time.Duration, error) {
	limit := p.opts.Wait
	if limit == 0 && !follows {
		return 0, p.opts.Full
	}
	if limit < 0 || follows {
		limit = maxWait
	}
	if !deadline.IsZero() {
		if left := time.Until(deadline); left < limit {
			return left, p.opts.Late
		}
	}
	return limit, p.opts.Full
}

// giveUp ends a wait with err, unless it is over.
func (p *Pool) giveUp(w *waiter, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiters.Remove(&w.place) {
		w.end(nil, err)
	}
}

// expireBy makes expire run at the given moment, which is in from now, or earlier. One timer serves all waiters. Most
// waits are equally long, so a new timer is rarely needed. The timer keeps running when no call waits anymore.
func (p *Pool) expireBy(at Moment, in time.Duration) {
	if p.expiry == 0 || at < p.expiry {
		p.expiry = at
		time.AfterFunc(in, p.expire)
	}
}

// expire ends the waits whose time has come.
func (p *Pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, next := Now(), Moment(0)
	for w := p.waiters.First(); w != nil; {
		following := w.place.Next()
		if w.until <= now {
			p.waiters.Remove(&w.place)
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
		next = max(next, now+Moment(waitGrain))
		p.expireBy(next, time.Duration(next-now))
	}
}
