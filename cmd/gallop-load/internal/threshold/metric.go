package threshold

import (
	"slices"

	"github.com/gallop-http/gallop/internal/load/result"
)

// kind is what a metric consists of.
type kind int

const (
	trend   kind = iota // durations
	rate                // a share, from 0 to 1
	counter             // a number of events
	gauge               // a state
)

func (k kind) aggregations() []string {
	return [...][]string{{"avg", "min", "med", "max", "p"}, {"rate"}, {"count", "rate"}, {"value"}}[k]
}

// metric is a metric. One of its functions is set, depending on its kind and on what it counts.
type metric struct {
	kind   kind
	trend  func(s *result.Series) []*result.Histogram
	share  func(s *result.Series) (part, whole int64)
	count  func(s *result.Series) int64
	users  func(u *result.Users) (*result.Histogram, int64) // of iterations; tags: scenario
	whole  func(r *result.Result) (value float64, ok bool)  // of the whole run; no tags
	lag    bool
	memory bool // the value is in bytes
}

// hasTag reports whether requests of the metric have a tag. Scenario files may add tags to requests.
func (m *metric) hasTag(key string) bool {
	switch {
	case m.whole != nil || m.lag:
		return false
	case m.users != nil:
		return key == "scenario"
	case key == "expected_response":
		return m.kind != rate
	case key == "status":
		return m.count != nil && m == metrics["http_reqs"]
	case key == "check":
		return m == metrics["checks"]
	}
	return true
}

// units returns the units of the metric's values, relative to the unit of results.
func (m *metric) units() map[string]float64 {
	switch {
	case m.kind == trend:
		return map[string]float64{"": 1, "ms": 1, "s": 1000, "us": 1e-3, "µs": 1e-3, "ns": 1e-6, "m": 60_000}
	case m.kind == rate:
		return map[string]float64{"": 1, "%": 0.01}
	}
	return map[string]float64{"": 1, "%": 1, "k": 1e3, "M": 1e6, "G": 1e9, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
}

func phase(pick func(p *result.Phases) *result.Histogram) *metric {
	return &metric{trend: func(s *result.Series) []*result.Histogram { return []*result.Histogram{pick(&s.Phases)} }}
}

func count(f func(s *result.Series) int64) *metric { return &metric{kind: counter, count: f} }

// metrics are the metrics by name: those of k6, then ours.
var metrics map[string]*metric

func init() {
	metrics = map[string]*metric{
		"http_req_duration": {trend: func(s *result.Series) []*result.Histogram {
			return []*result.Histogram{&s.Response, &s.UnexpectedResponse}
		}},
		"http_req_blocked":         phase(func(p *result.Phases) *result.Histogram { return &p.Blocked }),
		"http_req_connecting":      phase(func(p *result.Phases) *result.Histogram { return &p.Connect }),
		"http_req_tls_handshaking": phase(func(p *result.Phases) *result.Histogram { return &p.TLS }),
		"http_req_sending":         phase(func(p *result.Phases) *result.Histogram { return &p.Sending }),
		"http_req_waiting":         phase(func(p *result.Phases) *result.Histogram { return &p.Waiting }),
		"http_req_receiving":       phase(func(p *result.Phases) *result.Histogram { return &p.Receiving }),
		"http_req_failed": {kind: rate, share: func(s *result.Series) (int64, int64) {
			return s.Failed + s.Unexpected, s.Failed + s.Done
		}},
		"http_reqs":     count(func(s *result.Series) int64 { return s.Done + s.Failed }),
		"data_sent":     count(func(s *result.Series) int64 { return s.BytesOut }),
		"data_received": count(func(s *result.Series) int64 { return s.BytesIn }),
		"checks":        {kind: rate},
		"iterations": {kind: counter, users: func(u *result.Users) (*result.Histogram, int64) {
			return nil, u.Iterations
		}},
		"dropped_iterations": {kind: counter, users: func(u *result.Users) (*result.Histogram, int64) {
			return nil, u.Dropped
		}},
		"iteration_duration": {users: func(u *result.Users) (*result.Histogram, int64) { return &u.Length, 0 }},
		"vus":                {kind: gauge, whole: users(func(u *result.Users) int64 { return u.Active })},
		"vus_max":            {kind: gauge, whole: users(func(u *result.Users) int64 { return u.Most })},

		"http_req_service": {trend: func(s *result.Series) []*result.Histogram { return []*result.Histogram{&s.Service} }},
		"lag":              {lag: true},
		"cpu": {kind: gauge, whole: func(r *result.Result) (float64, bool) {
			if r.Server == nil || r.Elapsed() <= 0 {
				return 0, false
			}
			return 100 * r.Server.CPU.Seconds() / r.Elapsed().Seconds(), true
		}},
		"rss": {kind: gauge, memory: true, whole: func(r *result.Result) (float64, bool) {
			if r.Server == nil {
				return 0, false
			}
			return float64(r.Server.MaxRSS), true
		}},
	}
	for alias, name := range map[string]string{"latency": "http_req_duration", "service": "http_req_service", "errors": "http_req_failed", "dropped": "dropped_iterations"} {
		metrics[alias] = metrics[name]
	}
}

// users sums a count of all scenarios.
func users(f func(u *result.Users) int64) func(r *result.Result) (float64, bool) {
	return func(r *result.Result) (float64, bool) {
		var sum int64
		for i := range r.Scenarios {
			sum += f(&r.Scenarios[i].Users)
		}
		return float64(sum), true
	}
}

// expected returns the histograms that a trend has of expected or unexpected responses.
func (m *metric) expected(s *result.Series, want string) []*result.Histogram {
	all := m.trend(s)
	if len(all) < 2 || want == "" {
		return all
	}
	i := slices.Index([]string{"true", "false"}, want)
	if i < 0 {
		return nil
	}
	return all[i : i+1]
}
