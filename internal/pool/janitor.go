package pool

import (
	"sync"
	"time"
)

// lazySweep is how often the janitor looks at a pool whose connections do not expire.
const lazySweep = 10 * time.Second

// Janitor closes connections that have been idle for too long, in any number of pools. It is a timer that runs while
// there is something to look after, and not a goroutine. The zero value is ready for use.
type Janitor struct {
	mu    sync.Mutex
	pools map[*Pool]struct{}
	timer *time.Timer
	due   time.Time // when it comes by, the zero time for never
}

// Watch makes the janitor come by at p until p has no idle connections. If p has an option Forget, the janitor calls
// Forget when p has no idle connections. If Forget returns false, the janitor comes by again.
func (j *Janitor) Watch(p *Pool) {
	p.setWatched()
	j.watch(p)
}

// watch does the same for a pool that counts as watched.
func (j *Janitor) watch(p *Pool) {
	if p.opts.MaxIdleTime == 0 && p.opts.Forget == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pools == nil {
		j.pools = make(map[*Pool]struct{})
	}
	j.pools[p] = struct{}{}
	j.comeBy(time.Now().Add(p.sweepTime()))
}

func (p *Pool) setWatched() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched = true
}

// sweepTime returns how soon the janitor comes by again if no connection is known to expire before.
func (p *Pool) sweepTime() time.Duration {
	if p.opts.MaxIdleTime > 0 {
		return p.opts.MaxIdleTime
	}
	return lazySweep
}

// comeBy makes the janitor come at the given time or earlier.
func (j *Janitor) comeBy(at time.Time) {
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

// sweep closes the connections that have expired.
func (j *Janitor) sweep() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.due = time.Time{}
	now := Now()
	for p := range j.pools {
		next, ok := p.sweep(now)
		if !ok && p.opts.Forget != nil && !p.opts.Forget() {
			p.setWatched()
			next, ok = p.sweepTime(), true
		}
		if ok {
			j.comeBy(time.Now().Add(next))
		} else {
			delete(j.pools, p)
		}
	}
}

// sweep closes the connections that have expired, and returns how soon the next one will expire. If no connection is
// idle, ok is false, and p is not watched anymore.
func (p *Pool) sweep(now Moment) (next time.Duration, ok bool) {
	idleTime := p.opts.MaxIdleTime
	if idleTime > 0 {
		p.CloseIdle(now - Moment(idleTime))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.idle.First(); m != nil {
		if idleTime == 0 {
			return lazySweep, true
		}
		return idleTime - time.Duration(now-m.idleAt), true
	}
	p.watched = false
	return 0, false
}
