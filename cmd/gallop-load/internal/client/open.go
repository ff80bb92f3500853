package client

import (
	"sync"
	"time"
)

// open runs an open loop: each iteration starts when it is due, with an idle user if there is one and a new one otherwise.
func (s *scenario) open() {
	o := &openLoop{scenario: s, arrivals: newArrivals(&s.Load, s.options.Seed+uint64(s.index)), start: time.Now()}
	for range s.Load.VUs {
		o.idle = append(o.idle, o.user())
	}
	o.schedule()
	o.busy.Wait()
}

// openLoop is an open loop that runs.
type openLoop struct {
	*scenario
	arrivals *arrivals
	start    time.Time
	busy     sync.WaitGroup

	mu    sync.Mutex
	idle  []*user
	users int // created so far
}

func (o *openLoop) user() *user {
	o.users++
	o.entered()
	return o.newUser(o.users)
}

// schedule starts iterations until no more are due.
func (o *openLoop) schedule() {
	var resumed time.Duration
	for {
		if o.options.Control.Paused() {
			if !o.mayStart() {
				return
			}
			resumed = time.Since(o.start)
		}
		due, ok := o.arrivals.next(o.options.Control.Factor(), resumed)
		if !ok {
			return
		}
		at := o.start.Add(due)
		// Iterations that are due before the end start even if the end has come meanwhile: the generator may be late.
		if !sleep(o.going, time.Until(at)) {
			return
		}
		o.begin(at)
	}
}

// begin starts an iteration that is due, or drops it if all users that the load may have are busy.
func (o *openLoop) begin(due time.Time) {
	o.mu.Lock()
	var u *user
	switch n := len(o.idle); {
	case n > 0:
		u, o.idle = o.idle[n-1], o.idle[:n-1]
	case o.Load.MaxVUs == 0 || o.users < o.Load.MaxVUs:
		u = o.user()
	}
	o.mu.Unlock()
	if u == nil {
		o.recorder.dropped(o.index)
		return
	}
	o.busy.Go(func() {
		u.iterate(due)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.idle = append(o.idle, u)
	})
}
