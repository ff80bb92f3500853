// Package client is the engine that uses gallop.Client. It costs several times as much processor time as the raw engine, and it
// does what only a whole client can: proxies, redirects, and requests to several hosts.
//
//	client.go     running scenarios
//	closed.go     closed loops: users that start iterations one after the other
//	open.go       open loops: iterations that start when they are due
//	arrivals.go   when iterations are due
//	user.go       sending the requests of a user, and recording what happened
//	trace.go      the times of a request's phases
//	record.go     periods
//	dial.go       the client and its connections
//	errors.go     kinds of errors
package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop"

	"github.com/gallop-http/gallop/internal/load/engine"
)

// run is a run of the engine.
type run struct {
	options  *engine.Options
	client   *gallop.Client
	recorder *recorder
	start    time.Time
	conns    atomic.Int64
}

// scenario is a scenario that runs. Its contexts end in this order: starting, when its time is over; sending, when iterations in flight
// are cut off. The context going ends if the whole run ends early.
type scenario struct {
	*run
	engine.Scenario
	index    int             // in the run
	going    context.Context // the run
	starting context.Context
	sending  context.Context
	active   atomic.Int64 // users
	most     atomic.Int64
}

// Run is an engine.Run.
func Run(ctx context.Context, o *engine.Options, scenarios []engine.Scenario, sink engine.Sink) error {
	r := &run{options: o, start: time.Now()}
	var err error
	if r.client, err = r.newClient(); err != nil {
		return err
	}
	defer r.client.CloseIdleConnections()
	held, err := r.hold(ctx)
	defer held.close()
	if err != nil {
		return err
	}
	r.start = time.Now()
	r.recorder = newRecorder(r, scenarios, sink)
	var all sync.WaitGroup
	for i, s := range scenarios {
		all.Go(func() { r.runScenario(ctx, i, s) })
	}
	stop := r.recorder.everySecond()
	all.Wait()
	stop()
	return nil
}

// runScenario runs one scenario from its start to the end of its grace.
func (r *run) runScenario(ctx context.Context, index int, s engine.Scenario) {
	if !sleep(ctx, s.Load.StartTime) {
		return
	}
	starting, stopStarting := context.WithTimeout(ctx, s.Load.Length())
	defer stopStarting()
	sending, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	sc := &scenario{run: r, Scenario: s, index: index, going: ctx, starting: starting, sending: sending}
	r.recorder.register(sc)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s.Load.Executor.Open() {
			sc.open()
		} else {
			sc.closed()
		}
	}()
	select {
	case <-done:
		return
	case <-starting.Done():
	}
	select {
	case <-done:
	case <-time.After(s.Load.Grace):
		cutOff()
		<-done
	}
}

// sleep waits, and reports false if ctx is done first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// entered counts a user that begins, and left one that ends.
func (s *scenario) entered() {
	n := s.active.Add(1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
}

func (s *scenario) left() { s.active.Add(-1) }

// pausedPoll is how often a paused user looks whether the run goes on.
const pausedPoll = 20 * time.Millisecond

// mayStart waits while the run is paused, and reports whether an iteration may start.
func (s *scenario) mayStart() bool {
	for s.options.Control.Paused() {
		if !sleep(s.starting, pausedPoll) {
			return false
		}
	}
	return s.starting.Err() == nil
}

var _ engine.Run = Run
