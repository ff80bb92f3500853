package gallop

import (
	"sync"
	"time"
)

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
