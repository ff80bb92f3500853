package client

import (
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
)

// recorder fills periods. All users share one period under a lock, which is taken after a response and outside the measured time.
type recorder struct {
	run    *run
	sink   engine.Sink
	offset []int // of the series of a scenario in a period

	mu        sync.Mutex
	period    *result.Period
	inFlight  int64
	scenarios []*scenario

	spare *result.Period // used only by the goroutine that swaps
}

func newRecorder(r *run, scenarios []engine.Scenario, sink engine.Sink) *recorder {
	rec := &recorder{run: r, sink: sink}
	var names []string
	var kinds [][]string
	series := 0
	for _, s := range scenarios {
		rec.offset = append(rec.offset, series)
		names, kinds = append(names, s.Name), append(kinds, s.Script.Names())
		series += len(s.Script.Names())
	}
	rec.period, rec.spare = result.NewPeriod(names, kinds), result.NewPeriod(names, kinds)
	return rec
}

func (r *recorder) register(s *scenario) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scenarios = append(r.scenarios, s)
}

// series returns the series of a request. The lock must be held.
func (r *recorder) series(scenario, kind int) *result.Series {
	return r.period.Series[r.offset[scenario]+kind]
}

// dropped counts an iteration that was not started. Its first request counts as due.
func (r *recorder) dropped(scenario int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.period.Users[scenario].Dropped++
	s := r.series(scenario, 0)
	s.Due++
	s.Dropped++
}

// everySecond hands a period over once a second. The function that it returns hands over the last one.
func (r *recorder) everySecond() (stop func()) {
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 1; ; i++ {
			select {
			case <-ended:
				r.swap()
				return
			case <-time.After(time.Until(r.run.start.Add(time.Duration(i) * time.Second))):
				r.swap()
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
	}
}

// swap hands the current period over and begins the next one.
func (r *recorder) swap() {
	r.mu.Lock()
	full := r.period
	full.End = time.Since(r.run.start)
	full.InFlight, full.Conns = r.inFlight, r.run.conns.Load()
	for _, s := range r.scenarios {
		u := &full.Users[s.index]
		u.Active, u.Most = s.active.Load(), s.most.Load()
	}
	r.period = r.spare
	r.period.Start = full.End
	r.mu.Unlock()
	r.spare = r.sink(full)
}
