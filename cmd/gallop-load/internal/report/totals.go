package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

// totals are sums over a result.
type totals struct {
	*result.Result
	all      *result.Series   // all requests
	duration result.Histogram // of all responses, with expected and unexpected statuses
	users    result.Users     // of all scenarios
	open     bool             // some scenario is an open loop
	closed   bool             // some scenario is a closed loop
	seconds  float64
}

func sum(r *result.Result) *totals {
	t := &totals{Result: r, all: r.Total(), seconds: r.Elapsed().Seconds()}
	t.duration.Merge(&t.all.Response)
	t.duration.Merge(&t.all.UnexpectedResponse)
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		t.users.Merge(&s.Users)
		t.open, t.closed = t.open || s.Open, t.closed || !s.Open
	}
	return t
}

// rate returns n per second.
func (t *totals) rate(n int64) float64 {
	if t.seconds <= 0 {
		return 0
	}
	return float64(n) / t.seconds
}

// calls returns the requests that have an outcome.
func (t *totals) calls() int64 { return t.all.Done + t.all.Failed }

// asked returns the rate that open loops asked for.
func (t *totals) asked() float64 { return t.rate(t.all.Due) }

// share returns CPU time as a percentage of one core.
func (t *totals) share(cpu time.Duration) string {
	if t.seconds <= 0 {
		return "0%"
	}
	return fmt.Sprintf("%.0f%%", 100*cpu.Seconds()/t.seconds)
}

// countedFrom says from which moment latencies count.
func (t *totals) countedFrom() string {
	const due, sent = "due time (open loop)", "send (closed loop: waiting is not counted)"
	switch {
	case t.open && t.closed:
		return "due time in open loops, send in closed loops (waiting is not counted)"
	case t.open:
		return due
	}
	return sent
}

// origin names the program, the engine and the target.
func (t *totals) origin() string {
	parts := []string{"engine: " + figure.Line(t.Tool.Engine, 20), figure.Line(t.Target.Proto, 40)}
	if t.Target.TLS != "" {
		parts = append(parts, figure.Line(t.Target.TLS, 80))
	}
	parts = append(parts, figure.Line(t.Target.URL, 200))
	if t.Target.Peer != "" {
		parts = append(parts, figure.Line(t.Target.Peer, 80))
	}
	return strings.Join(parts, " · ")
}

// tails are the quantiles beside p50 and p90; they are shown if there are enough requests.
var tails = []struct {
	name string
	q    float64
}{{"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}}

// failure is one kind of error of one request.
type failure struct {
	result.Error
	Request string
	After   time.Duration // since the start of the run
}

// failures returns all errors, the most frequent ones first.
func (t *totals) failures() []failure {
	var all []failure
	for _, s := range t.Series {
		for _, e := range s.Errors {
			all = append(all, failure{e, s.Name, e.First.Sub(t.Started)})
		}
	}
	slices.SortStableFunc(all, func(a, b failure) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// name returns the name of a series, with its scenario if there are several.
func (t *totals) name(s *result.Series) string {
	if len(t.Scenarios) > 1 {
		return s.Scenario + "/" + s.Name
	}
	return s.Name
}

// Verdict is the judgement of a run.
type Verdict struct {
	State   State
	Reasons []string
}

// State says how much a run is worth.
type State string

// Passed, Doubtful and Failed are the states of a run. A failed run has crossed a threshold. Figures of a doubtful run may
// show the generator rather than the target.
const (
	Passed   State = "passed"
	Doubtful State = "doubtful"
	Failed   State = "failed"
)

// Judge returns the verdict on a run and its reasons.
func Judge(r *result.Result) Verdict {
	v := Verdict{State: Passed}
	warned := func(of string) bool {
		return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, of) })
	}
	if r.Generator.Saturated && !warned("latencies include its own delays") {
		v.add(Doubtful, "the generator was saturated: latencies include its own delays")
	}
	if r.ByHand && !warned("by hand") {
		v.add(Doubtful, "the rate was changed by hand")
	}
	for _, w := range r.Warnings {
		v.add(Doubtful, w)
	}
	for _, s := range r.Series {
		if end := s.Ended(); s.Sent != end {
			v.add(Doubtful, fmt.Sprintf("%s: %d requests were sent, but %d have an outcome", s.Name, s.Sent, end))
		}
	}
	for _, t := range r.Thresholds {
		if !t.OK {
			v.add(Failed, fmt.Sprintf("threshold %s %s: the value is %s", t.Metric, t.Expr, figure.Metric(t.Metric, t.Expr, t.Value)))
		}
	}
	return v
}

func (v *Verdict) add(state State, reason string) {
	v.State = state
	v.Reasons = append(v.Reasons, reason)
}
