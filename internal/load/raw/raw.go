// Package raw is the engine that owns its sockets. Each of its threads is one goroutine that does everything: it decides what
// is due, writes requests, reads responses and records them. It shares nothing with other threads while requests run, so it
// needs no locks. In the steady state it allocates nothing.
//
// On Linux, a thread waits with epoll and makes its own system calls. With TLS and on other systems, a goroutine per
// connection reads from a net.Conn and passes the bytes on. Both drivers call the same code.
//
//	raw.go            Run: starts the threads
//	settings.go       options with their defaults, limits of this machine
//	thread.go         the loop of a thread, time, deadlines
//	courier.go        periods: to the collector and back
//	scenario.go       a thread's part of a scenario
//	scenario_open.go  open loops: what is due
//	user.go           a user: iterations and requests
//	user_end.go       how requests end, and how they are recorded
//	line.go           which connection carries a request
//	conn*.go          a connection, and HTTP/1.1 and HTTP/2 on it
//	request.go        a request, and its bytes in HTTP/1.1
//	response*.go      a response, and reading it in HTTP/1.1
//	errors.go         kinds of errors
//	queue.go, wake.go a queue, and users that pause
//	driver*.go        what a thread needs from sockets; epoll_linux.go, net*.go: the drivers
package raw

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/schedule"
)

// Run is an [engine.Run].
func Run(ctx context.Context, o *engine.Options, scenarios []engine.Scenario, sink engine.Sink) error {
	return run(ctx, o, scenarios, sink, defaultDriver)
}

// run is Run with a driver.
func run(ctx context.Context, o *engine.Options, scenarios []engine.Scenario, sink engine.Sink, newDriver func(*thread) (driver, error)) error {
	s, err := newSettings(ctx, o, scenarios)
	if err != nil {
		return err
	}
	shared := &shared{ctx: ctx, sink: sink, scenarios: scenarios, left: make([]atomic.Int64, len(scenarios)), begin: make(chan struct{})}
	for i := range scenarios {
		shared.names = append(shared.names, scenarios[i].Name)
		shared.requests = append(shared.requests, scenarios[i].Script.Names())
		shared.left[i].Store(max(scenarios[i].Load.Iterations, 1))
	}
	var ready, ended sync.WaitGroup
	errs := make([]error, s.threads)
	for i := range s.threads {
		ready.Add(1)
		ended.Go(func() {
			t := newThread(s, shared, schedule.Part{Index: i, Count: s.threads})
			errs[i] = t.prepare(newDriver)
			ready.Done()
			<-shared.begin
			t.run()
		})
	}
	ready.Wait()
	shared.start = time.Now()
	for _, err := range errs {
		shared.failed = shared.failed || err != nil
	}
	close(shared.begin)
	ended.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// shared is what the threads of a run have in common.
type shared struct {
	ctx       context.Context
	sink      engine.Sink
	scenarios []engine.Scenario
	names     []string
	requests  [][]string
	left      []atomic.Int64 // iterations of SharedIterations, by scenario

	begin  chan struct{} // closed when all threads are ready; then the fields below are set
	start  time.Time
	failed bool // a thread could not start
}

// period returns an empty period for the run.
func (s *shared) period() *result.Period { return result.NewPeriod(s.names, s.requests) }
