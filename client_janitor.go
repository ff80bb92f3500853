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

// watch makes the janitor come by at p until that has no idle connections.
func (j *janitor) watch(p *connPool) {
	if p.host.set.maxIdleTime == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pools == nil {
		j.pools = make(map[*connPool]struct{})
	}
	j.pools[p] = struct{}{}
	j.comeBy(time.Now().Add(p.host.set.maxIdleTime))
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
	now := time.Now()
	for p := range j.pools {
		next, ok := p.sweep(now)
		if !ok && j.forget != nil && !j.forget(p) {
			p.mu.Lock()
			p.watched = true
			p.mu.Unlock()
			next, ok = now.Add(p.host.set.maxIdleTime), true
		}
		if ok {
			j.comeBy(next)
		} else {
			delete(j.pools, p)
		}
	}
}

// sweep closes the connections that have expired and returns when the next one will.
// If none is idle then ok is false, and p is not watched any more.
func (p *connPool) sweep(now time.Time) (next time.Time, ok bool) {
	idleTime := p.host.set.maxIdleTime
	p.closeIdle(now.Add(-idleTime))
	p.mu.Lock()
	defer p.mu.Unlock()
	if cc := p.idle.first; cc != nil {
		return cc.lastUse.Add(idleTime), true
	}
	p.watched = false
	return time.Time{}, false
}
