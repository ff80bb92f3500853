//go:build linux

package load

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
)

// Result holds the outcome of a period.
type Result struct {
	Seconds float64
	Kinds   map[string]KindResult
	Opened  int            // connections opened
	Closed  int            // idle connections that the server closed
	Errors  map[string]int // errors of lost requests and of connections that could not be opened
}

// KindResult holds the outcome of the requests of one kind.
type KindResult struct {
	Done, Lost                     int
	P50, P90, P95, P99, P999, Most time.Duration // from when they were due until the response
}

// Sum returns the numbers of requests of all kinds that were done and lost.
func (r Result) Sum() (done, lost int) {
	for _, k := range r.Kinds {
		done += k.Done
		lost += k.Lost
	}
	return done, lost
}

// period collects a Result. It is safe for concurrent use.
type period struct {
	begun          time.Time
	kinds          []kindPeriod
	opened, closed atomic.Int64

	mu     sync.Mutex
	errors map[string]int
}

type kindPeriod struct {
	latencies  measure.Latencies
	done, lost atomic.Int64
}

func newPeriod(kinds int) *period {
	return &period{begun: time.Now(), kinds: make([]kindPeriod, kinds), errors: map[string]int{}}
}

func (p *period) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors[err.Error()]++
}

func (p *period) result(kinds []Kind) Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := Result{
		Seconds: time.Since(p.begun).Seconds(),
		Kinds:   map[string]KindResult{},
		Opened:  int(p.opened.Load()),
		Closed:  int(p.closed.Load()),
		Errors:  maps.Clone(p.errors),
	}
	for i, kind := range kinds {
		k := &p.kinds[i]
		q := k.latencies.Quantile
		r.Kinds[kind.Name] = KindResult{int(k.done.Load()), int(k.lost.Load()), q(.5), q(.9), q(.95), q(.99), q(.999), q(1)}
	}
	return r
}
