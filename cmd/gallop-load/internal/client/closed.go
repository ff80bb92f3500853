package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// closed runs a closed loop until no iteration may start and the last one has ended.
func (s *scenario) closed() {
	switch l := &s.Load; l.Executor {
	case script.RampingVUs:
		s.ramp()
	case script.SharedIterations:
		var taken atomic.Int64
		s.users(l.VUs, func(int) func() bool {
			return func() bool { return taken.Add(1) <= l.Iterations }
		})
	case script.PerVUIterations:
		s.users(l.VUs, func(int) func() bool {
			left := l.Iterations
			return func() bool { left--; return left >= 0 }
		})
	default:
		s.users(l.VUs, func(int) func() bool { return func() bool { return true } })
	}
}

// users runs n users. The function more returns for a user the function that says whether another iteration follows.
func (s *scenario) users(n int, more func(number int) func() bool) {
	var all sync.WaitGroup
	for i := range n {
		again := more(i + 1)
		all.Go(func() { s.loop(s.starting, i+1, again) })
	}
	all.Wait()
}

// loop runs the iterations of a user.
func (s *scenario) loop(starting context.Context, number int, more func() bool) {
	s.entered()
	defer s.left()
	u := s.newUser(number)
	for s.mayStart() && starting.Err() == nil && more() {
		u.iterate(time.Time{})
	}
}

// rampStep is how often a ramp changes the number of users.
const rampStep = 50 * time.Millisecond

// ramp runs a number of users that changes. Users that end finish their iteration first, and their numbers are used again.
func (s *scenario) ramp() {
	var all sync.WaitGroup
	var running []context.CancelFunc
	start := time.Now()
	for ; s.starting.Err() == nil; sleep(s.starting, rampStep) {
		want := s.Load.UsersAt(time.Since(start))
		for len(running) < want {
			number := len(running) + 1
			ctx, cancel := context.WithCancel(s.starting)
			running = append(running, cancel)
			all.Go(func() { s.loop(ctx, number, func() bool { return true }) })
		}
		for len(running) > want {
			running[len(running)-1]()
			running = running[:len(running)-1]
		}
	}
	for _, cancel := range running {
		cancel()
	}
	all.Wait()
}
