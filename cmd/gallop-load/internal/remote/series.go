package remote

import (
	"slices"
	"strconv"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// prefix begins the names of all metrics.
const prefix = "gallop_load_"

// Timeline turns the seconds of a run into series. NewTimeline creates one.
type Timeline struct {
	started time.Time
	series  []Series
	sums    map[string]float64 // of counters, since the start of the run
}

// NewTimeline creates a time line for a run that has started at this time.
func NewTimeline(started time.Time) *Timeline {
	return &Timeline{started: started, sums: map[string]float64{}}
}

// Add adds a second of the run.
func (t *Timeline) Add(s *result.Second) {
	at := t.started.Add(s.T + s.Length)
	for _, c := range []struct {
		name string
		n    float64
	}{
		{"requests_due_total", float64(s.Due)},
		{"requests_sent_total", float64(s.Sent)},
		{"responses_total", float64(s.Done)},
		{"requests_failed_total", float64(s.Failed)},
		{"generator_cpu_seconds_total", s.CPU.Seconds()},
		{"server_cpu_seconds_total", s.Server.Seconds()},
	} {
		t.sums[c.name] += c.n
		t.add(at, t.sums[c.name], c.name)
	}
	for _, q := range []struct {
		name string
		d    time.Duration
	}{{"0.5", s.P50}, {"0.9", s.P90}, {"0.99", s.P99}, {"1", s.Max}} {
		t.add(at, q.d.Seconds(), "latency_seconds", Label{"quantile", q.name})
	}
	t.add(at, float64(s.Users), "users")
	t.add(at, float64(s.Conns), "connections")
	t.add(at, float64(s.InFlight), "requests_in_flight")
	t.add(at, s.Lag.Seconds(), "generator_lag_seconds")
}

func (t *Timeline) add(at time.Time, v float64, name string, labels ...Label) {
	labels = append([]Label{{"__name__", prefix + name}}, labels...)
	i := slices.IndexFunc(t.series, func(s Series) bool { return slices.Equal(s.Labels, labels) })
	if i < 0 {
		i = len(t.series)
		t.series = append(t.series, Series{Labels: labels})
	}
	t.series[i].Samples = append(t.series[i].Samples, Sample{at, v})
}

// Take returns the series of the seconds since the last Take.
func (t *Timeline) Take() []Series {
	taken := t.series
	t.series = nil
	return taken
}

// Totals returns the counts and latencies of each request, the checks and the thresholds, at the end of the run.
func Totals(r *result.Result) []Series {
	t := NewTimeline(r.Started)
	for _, s := range r.Series {
		t.totals(s, r.Ended)
	}
	for _, h := range r.Thresholds {
		ok := 0.0
		if h.OK {
			ok = 1
		}
		t.add(r.Ended, ok, "threshold_ok", Label{"metric", h.Metric}, Label{"threshold", h.Expr})
	}
	return t.Take()
}

func (t *Timeline) totals(s *result.Series, at time.Time) {
	request := func(more ...Label) []Label {
		return append([]Label{{"scenario", s.Scenario}, {"request", s.Name}}, more...)
	}
	for _, code := range s.SortedStatus() {
		t.add(at, float64(s.Status[code]), "request_responses_total", request(Label{"status", strconv.Itoa(code)})...)
	}
	for _, e := range s.Errors {
		t.add(at, float64(e.Count), "request_errors_total", request(Label{"kind", e.Kind})...)
	}
	for _, c := range s.Checks {
		t.add(at, float64(c.Pass), "checks_total", request(Label{"check", c.Name}, Label{"outcome", "passed"})...)
		t.add(at, float64(c.Fail), "checks_total", request(Label{"check", c.Name}, Label{"outcome", "failed"})...)
	}
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999} {
		if s.Response.Resolves(q) {
			name := strconv.FormatFloat(q, 'f', -1, 64)
			t.add(at, s.Response.Quantile(q).Seconds(), "request_latency_seconds", request(Label{"quantile", name})...)
		}
	}
}
