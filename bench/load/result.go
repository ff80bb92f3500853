//go:build linux

package load

import (
	"fmt"
	"maps"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
)

// Result holds the outcome of a period.
type Result struct {
	Seconds float64
	Kinds   map[string]KindResult
	Opened  int            // connections opened
	Closed  int            // idle connections that the server closed
	Errors  map[string]int // errors of lost requests
}

// KindResult holds the outcome of the requests of one kind. A request that had to be sent again, because the server had closed its
// connection, is both lost and done.
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

// period collects a Result.
type period struct {
	length         time.Duration
	kinds          map[string]*kindPeriod
	opened, closed int64
	errors         map[string]int
}

type kindPeriod struct {
	latencies  result.Histogram
	done, lost int64
}

func newPeriod() *period { return &period{kinds: map[string]*kindPeriod{}, errors: map[string]int{}} }

// add adds a period of the engine.
func (p *period) add(from *result.Period) {
	p.length += from.End - from.Start
	p.opened += from.Opened
	p.closed += from.Closed
	for _, s := range from.Series {
		if s.Sent > 0 || s.Ended() > 0 {
			p.addSeries(s)
		}
	}
}

func (p *period) addSeries(s *result.Series) {
	k := p.kinds[s.Name]
	if k == nil {
		k = &kindPeriod{}
		p.kinds[s.Name] = k
	}
	k.done += s.Done - s.Unexpected + s.Resets
	k.lost += s.Unexpected + s.Failed + s.Raced
	k.latencies.Merge(&s.Response)
	for _, e := range s.Errors {
		p.errors[s.Name+": "+e.Example] += int(e.Count)
	}
	if s.Raced > 0 {
		p.errors[s.Name+": connection closed, sent again"] += int(s.Raced)
	}
	if s.Unexpected > 0 {
		p.errors[fmt.Sprintf("%s: unexpected status, all were %v", s.Name, s.SortedStatus())] += int(s.Unexpected)
	}
}

// result returns the result, which has all kinds of the scenarios.
func (p *period) result(scenarios []engine.Scenario) Result {
	r := Result{Seconds: p.length.Seconds(), Kinds: map[string]KindResult{}, Opened: int(p.opened), Closed: int(p.closed), Errors: maps.Clone(p.errors)}
	for _, s := range scenarios {
		for _, name := range s.Script.Names() {
			r.Kinds[name] = p.kinds[name].result()
		}
	}
	return r
}

func (k *kindPeriod) result() KindResult {
	if k == nil {
		return KindResult{}
	}
	q := k.latencies.Quantile
	return KindResult{int(k.done), int(k.lost), q(.5), q(.9), q(.95), q(.99), q(.999), q(1)}
}
