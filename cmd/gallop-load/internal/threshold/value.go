package threshold

import (
	"strconv"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// Value computes the value of the threshold. It reports false if the result has nothing to compute it from, such as the latency
// of requests that were never sent.
func (t *Threshold) Value(r *result.Result) (value float64, ok bool) {
	m := t.metric
	switch {
	case m.whole != nil:
		return m.whole(r)
	case m.kind == trend:
		var h result.Histogram
		for _, part := range t.histograms(r) {
			h.Merge(part)
		}
		return t.ofDurations(&h), h.Count() > 0
	case m.kind == rate:
		part, whole := t.share(r)
		if whole == 0 {
			return 0, false
		}
		return float64(part) / float64(whole), true
	}
	n := float64(t.count(r))
	if t.agg == "rate" {
		seconds := r.Elapsed().Seconds()
		if seconds <= 0 {
			return 0, false
		}
		return n / seconds, true
	}
	return n, true
}

func (t *Threshold) ofDurations(h *result.Histogram) float64 {
	var d time.Duration
	switch t.agg {
	case "avg":
		d = h.Mean()
	case "min":
		d = h.Min()
	case "max":
		d = h.Max()
	case "med":
		d = h.Quantile(0.5)
	case "p":
		d = h.Quantile(t.quantile)
	}
	return float64(d) / float64(time.Millisecond)
}

func (t *Threshold) histograms(r *result.Result) (all []*result.Histogram) {
	switch {
	case t.metric.lag:
		return []*result.Histogram{&r.Generator.Lag}
	case t.metric.users != nil:
		for u := range t.usersOf(r) {
			h, _ := t.metric.users(u)
			all = append(all, h)
		}
		return all
	}
	for s := range t.series(r) {
		all = append(all, t.metric.expected(s, t.Tags["expected_response"])...)
	}
	return all
}

func (t *Threshold) share(r *result.Result) (part, whole int64) {
	for s := range t.series(r) {
		if t.metric.share != nil {
			p, w := t.metric.share(s)
			part, whole = part+p, whole+w
			continue
		}
		for _, c := range s.Checks {
			if name, tagged := t.Tags["check"]; !tagged || name == c.Name {
				part, whole = part+c.Pass, whole+c.Pass+c.Fail
			}
		}
	}
	return part, whole
}

func (t *Threshold) count(r *result.Result) (n int64) {
	if t.metric.users != nil {
		for u := range t.usersOf(r) {
			_, of := t.metric.users(u)
			n += of
		}
		return n
	}
	for s := range t.series(r) {
		n += t.countOf(s)
	}
	return n
}

// countOf counts the events of one series. Only http_reqs knows statuses and which responses were expected.
func (t *Threshold) countOf(s *result.Series) int64 {
	if status, tagged := t.Tags["status"]; tagged {
		code, _ := strconv.Atoi(status)
		return s.Status[code]
	}
	if t.metric == metrics["http_reqs"] {
		switch t.Tags["expected_response"] {
		case "true":
			return s.Done - s.Unexpected
		case "false":
			return s.Unexpected + s.Failed
		}
	}
	return t.metric.count(s)
}

// series yields the series that have the tags of the threshold.
func (t *Threshold) series(r *result.Result) func(yield func(*result.Series) bool) {
	return func(yield func(*result.Series) bool) {
		for _, s := range r.Series {
			if t.matches(s) && !yield(s) {
				return
			}
		}
	}
}

func (t *Threshold) matches(s *result.Series) bool {
	for key, want := range t.Tags {
		var got string
		switch key {
		case "expected_response", "status", "check":
			continue // not a property of a whole series
		case "name":
			got = s.Name
		case "scenario":
			got = s.Scenario
		case "method":
			got = s.Method
		case "proto":
			got = s.Proto
		default:
			got = s.Tags[key]
		}
		if got != want {
			return false
		}
	}
	return true
}

// usersOf yields the users of the scenarios that the threshold is about.
func (t *Threshold) usersOf(r *result.Result) func(yield func(*result.Users) bool) {
	return func(yield func(*result.Users) bool) {
		for i := range r.Scenarios {
			s := &r.Scenarios[i]
			if want, tagged := t.Tags["scenario"]; tagged && want != s.Name {
				continue
			}
			if !yield(&s.Users) {
				return
			}
		}
	}
}

// Evaluate computes the outcome of the threshold. Without data, a threshold is violated, except for counts, which are then 0.
func (t *Threshold) Evaluate(r *result.Result) result.Threshold {
	value, ok := t.Value(r)
	return result.Threshold{Metric: t.Metric, Expr: t.Expr, Value: value, OK: ok && t.Holds(value)}
}
