package gallop

import (
	"context"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/list"
)

// connPool is the connections to one host: those that are idle, how many there are in
// all, and who waits for one. Each operation takes constant time.
type connPool struct {
	host *HostClient

	mu      sync.Mutex
	open    int                   // idle, in use, or being dialed: what MaxConns limits
	max     int                   // of open
	idle    list.List[ClientConn] // the longest idle one first
	dials   list.List[dialing]    // calls that wait for a dial, which are older than those that wait for a place
	waiters waiterList
	lock    waiterLock
	expiry  moment // when waits are looked at; 0 if nobody does
	usedAt  moment // when a connection was last made or given back
	watched bool   // the janitor comes by
}

// get returns a connection for one call: an idle one that is still good, or a new one,
// or, if there may be no more, the first that nobody needs any more. fresh asks for a
// new one in any case. If it is for a round trip, that may find out whether an idle one
// is still good. trace is the one of ctx.
func (p *connPool) get(ctx context.Context, deadline time.Time, trace *ClientTrace, fresh, roundTrip bool) (*ClientConn, error) {
	trusting := roundTrip && trace == nil // GotConn is told of good ones only
	var tried *ClientConn                 // lost if a callback panics
	defer func() {
		if tried != nil {
			p.discard(tried)
		}
	}()
	for trace.getConn(p.host.Addr); ; {
		p.mu.Lock()
		if p.idle.Len() > 0 && !p.host.set.strategy.isKnown() { // only then, as in fasthttp
			p.mu.Unlock()
			return nil, ErrConnPoolStrategyNotImpl
		}
		cc := p.takeIdle(fresh)
		if cc == nil || fresh {
			var err error
			if cc, err = p.make(ctx, deadline, cc, fresh); err != nil { // unlocks
				return nil, err
			}
		} else {
			p.mu.Unlock()
		}
		tried = cc
		isNew := cc.calls == 0
		cc.unproven = trusting && !isNew && cc.asker.ok()
		if isNew || cc.unproven || !cc.stale() {
			trace.gotConn(cc)
			tried = nil
			return cc, nil
		}
		tried = nil
		p.discard(cc)
	}
}

// make returns a new connection, or one that becomes idle while the call waits. If the call needs a fresh one,
// only a new one will do, which takes the place of old unless that is nil. p is locked, and is not afterwards.
func (p *connPool) make(ctx context.Context, deadline time.Time, old *ClientConn, fresh bool) (*ClientConn, error) {
	switch {
	case old != nil:
	case p.open < p.max:
		p.open++
	default:
		cc, err := p.await(ctx, deadline) // unlocks
		if err != nil || cc != nil && !fresh {
			return cc, err
		}
		old = cc
		p.mu.Lock()
		if !fresh && p.idle.Len() > 0 { // since this call was given a place
			cc = p.takeIdle(false)
			p.leaveLocked()
			p.mu.Unlock()
			return cc, nil
		}
	}
	if old != nil { // which nobody else can take
		p.mu.Unlock()
		old.close()
		p.mu.Lock()
	}
	d, cancel := p.startDial(ctx, deadline, fresh)
	p.mu.Unlock()
	cc, err := p.awaitDial(ctx, deadline, d, cancel)
	if err != nil {
		err = inPhase(err, phaseDial, "")
	}
	return cc, err
}

// takeIdle takes an idle connection out of the list. If a fresh one is wanted that is
// the oldest, and only if there may be no further one beside it.
func (p *connPool) takeIdle(fresh bool) *ClientConn {
	switch {
	case fresh && p.open < p.max:
		return nil
	case fresh, p.host.set.strategy == FIFO:
		return p.idle.PopFirst()
	}
	return p.idle.PopLast()
}

// tooOld reports whether cc has been there for as long as connections may. That one
// has been idle for too long is the janitor's business.
func (p *connPool) tooOld(cc *ClientConn) bool {
	limit := p.host.set.maxConnTime
	return limit > 0 && time.Since(cc.created) >= limit
}

// put takes back a connection that can be used again.
func (p *connPool) put(cc *ClientConn) {
	set := p.host.set
	trace := set.trace
	if cc.set != nil { // of the call that has ended
		trace = cc.set.trace
	}
	cc.idleAt = momentNow()
	p.mu.Lock()
	p.usedAt = cc.idleAt
	if p.open > p.max {
		p.mu.Unlock()
		p.discard(cc)
		return
	}
	if p.dials.Len() > 0 && p.giveDialing(cc) || p.waiters.give(cc) {
		p.mu.Unlock()
		return
	}
	p.idle.Push(&cc.place, cc)
	var surplus *ClientConn
	if p.idle.Len() > set.maxIdle {
		surplus = p.idle.PopFirst()
	}
	watch := !p.watched
	p.watched = true
	p.mu.Unlock()
	if surplus != nil {
		p.discard(surplus)
	}
	if watch {
		p.host.janitor.watch(p)
	}
	trace.putIdle(cc.addr)
}

// discard closes a connection that is not in the list.
func (p *connPool) discard(cc *ClientConn) {
	defer p.leave()
	cc.close()
}

// leave gives a place for a connection to the first who waits, or back.
func (p *connPool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaveLocked()
}

func (p *connPool) leaveLocked() {
	if p.open > p.max || !p.waiters.give(nil) {
		p.open--
	}
}

// setMax changes how many connections there may be.
func (p *connPool) setMax(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.max = n; p.open < p.max && p.waiters.give(nil); {
		p.open++
	}
}

// closeIdle closes the connections that have been idle since the given moment or before.
func (p *connPool) closeIdle(since moment) {
	for {
		p.mu.Lock()
		cc := p.idle.First()
		if cc == nil || cc.idleAt > since {
			p.mu.Unlock()
			return
		}
		p.idle.Remove(&cc.place)
		p.mu.Unlock()
		p.discard(cc)
	}
}

// counts returns how many connections there are, and how many of them are idle.
func (p *connPool) counts() (open, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open, p.idle.Len()
}

// stale reports whether the connection, which is idle, must not be used. It does not wait.
func (cc *ClientConn) stale() bool {
	p := &cc.probe
	return p.Heard() || p.Secured != nil && cc.hasSecret()
}

// hasSecret reports whether TLS has read more than it has handed out. It is asked by a
// read that may not wait.
func (cc *ClientConn) hasSecret() bool {
	cc.readBy = longAgo
	cc.nc.SetReadDeadline(longAgo)
	var one [1]byte
	n, err := cc.nc.Read(one[:])
	return n > 0 || !timedOut(err)
}

// janitor closes connections that have been idle for too long, of all hosts of a
// Client or of one HostClient. It is a timer that runs while there is something to
// look after, and no goroutine.
type janitor struct {
	mu    sync.Mutex
	pools map[*connPool]struct{}
	timer *time.Timer
	due   time.Time // when it comes by, the zero time for never

	// forget reports whether the host, which has no idle connections, needs no looking
	// after. nil is always.
	forget func(*connPool) bool
}

// watch makes the janitor come by at p until that has no idle connections, and the host, if it is one
// of a Client, is forgotten.
func (j *janitor) watch(p *connPool) {
	if p.host.set.maxIdleTime == 0 && j.forget == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pools == nil {
		j.pools = make(map[*connPool]struct{})
	}
	j.pools[p] = struct{}{}
	j.comeBy(time.Now().Add(p.sweepTime()))
}

// sweepTime is how soon the janitor comes by again where nothing is known to expire before.
func (p *connPool) sweepTime() time.Duration {
	return orDefault(p.host.set.maxIdleTime, DefaultMaxIdleConnDuration)
}

// comeBy makes the janitor come at the given time, or before.
func (j *janitor) comeBy(at time.Time) {
	if !j.due.IsZero() && !at.Before(j.due) {
		return
	}
	j.due = at
	wait := time.Until(at)
	if j.timer == nil {
		j.timer = time.AfterFunc(wait, j.sweep)
	} else {
		j.timer.Reset(wait)
	}
}

// sweep closes what has expired.
func (j *janitor) sweep() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.due = time.Time{}
	now := momentNow()
	for p := range j.pools {
		next, ok := p.sweep(now)
		if !ok && j.forget != nil && !j.forget(p) {
			p.mu.Lock()
			p.watched = true
			p.mu.Unlock()
			next, ok = p.sweepTime(), true
		}
		if ok {
			j.comeBy(time.Now().Add(next))
		} else {
			delete(j.pools, p)
		}
	}
}

// sweep closes the connections that have expired and returns how soon the next one will.
// If none is idle then ok is false, and p is not watched any more.
func (p *connPool) sweep(now moment) (next time.Duration, ok bool) {
	idleTime := p.host.set.maxIdleTime
	if idleTime > 0 {
		p.closeIdle(now - moment(idleTime))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if cc := p.idle.First(); cc != nil {
		if idleTime == 0 {
			return p.sweepTime(), true
		}
		return idleTime - time.Duration(now-cc.idleAt), true
	}
	p.watched = false
	return 0, false
}

// moment is a point in time by the monotonic clock, for which asking the time costs half
// as much. The zero moment is never.
type moment time.Duration

var clientEpoch = time.Now()

func momentNow() moment { return moment(time.Since(clientEpoch)) }

// time returns m by the wall clock.
func (m moment) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(momentNow() - m))
}
