// Package resulttest builds results with known figures for the tests of reports. They come from seeded random numbers, so
// every call returns the same result.
package resulttest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

var start = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// Closed returns a run of 25 users for 30 seconds, in which two of five requests get status 406.
func Closed() *result.Result {
	r := base("raw", 30)
	r.Target.URL = "http://127.0.0.1:8080/"
	s := result.NewSeries("default", "negotiate")
	s.Method, s.Proto = "GET", "HTTP/1.1"
	r.Series = []*result.Series{s}
	users := result.Users{Iterations: 30_000, Most: 25}
	users.Length.Coarse()
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 30 {
		var second seconds
		for n := range 1000 {
			d := latency(random, 600*time.Microsecond)
			second.add(d)
			users.Length.Add(d + 20*time.Microsecond)
			exchange(s, d, d, n%5 >= 3)
		}
		r.Seconds = append(r.Seconds, second.row(i, 0, 25))
		r.Seconds[i].Failed = 400
	}
	s.BytesOut, s.BytesIn, s.BodyIn = 30_000*120, 30_000*190, 30_000*40
	r.Scenarios = []result.Scenario{{Name: "default", Executor: "constant-vus", VUs: 25, Duration: 30 * time.Second, Users: users}}
	r.Connections = result.Connections{Opened: 25}
	r.Generator = generator(30_000, 0)
	return r
}

// Open returns a run at 500 requests per second for 20 seconds against a server that stalls for the whole of the last second
// in every five. It has two requests, errors, checks, thresholds, a watched server and warnings.
func Open() *result.Result {
	r := base("raw", 20)
	r.Target.URL = "http://127.0.0.1:8080/items"
	home, items := result.NewSeries("steady", "home"), result.NewSeries("steady", "items")
	r.Series = []*result.Series{home, items}
	users := result.Users{Iterations: 9_950, Interrupted: 3, Dropped: 40, Most: 510}
	users.Length.Coarse()
	random := rand.New(rand.NewPCG(2, 2))
	r.Generator = generator(10_000, 150*time.Microsecond)
	for i := range 20 {
		var second seconds
		for n := range 500 {
			s := r.Series[n%2]
			service := latency(random, 400*time.Microsecond)
			response := service
			if i%5 == 4 {
				response += time.Second - time.Duration(n)*2*time.Millisecond
			}
			s.Due++
			if n == 7 {
				fail(s, i)
				continue
			}
			if i%5 == 4 && n%50 == 8 {
				s.Dropped++
				continue
			}
			second.add(response)
			users.Length.Add(response)
			exchange(s, response, service, false)
			s.Check("status is 200", true, nil)
			s.Check("body has items", s == items || n%100 != 0, func() string { return "HTTP/1.1 200 OK\r\n\r\n{\"items\":null}" })
			r.Generator.Lag.Add(time.Duration(random.IntN(90)) * time.Microsecond)
		}
		row := second.row(i, 500, int64(40+300*(i%5/4)))
		row.Server, row.Failed = 190*time.Millisecond, 1
		row.Lag = 90 * time.Microsecond
		r.Seconds = append(r.Seconds, row)
	}
	home.Due += 3
	home.Sent, home.Aborted = home.Sent+3, 3
	home.BytesOut, items.BytesOut, home.BytesIn, items.BytesIn = 400_000, 420_000, 2_000_000, 9_000_000
	r.Scenarios = []result.Scenario{{Name: "steady", Executor: "constant-arrival-rate", Open: true, Rate: 500,
		Duration: 20 * time.Second, Users: users}}
	r.Connections = result.Connections{Opened: 512, Resumed: 0, ClosedByPeer: 20}
	r.Server = &result.Server{PID: 4711, CPU: 3800 * time.Millisecond, PerCall: 382 * time.Microsecond, MaxRSS: 24 << 20}
	r.Thresholds = []result.Threshold{
		{Metric: "http_req_duration", Expr: "p(95)<200", OK: false, Value: 748.2},
		{Metric: "http_req_failed", Expr: "rate<0.01", OK: true, Value: 0.002},
		{Metric: "http_req_duration{name:items}", Expr: "p(99)<1500", OK: true, Value: 981.5},
	}
	r.Warnings = []string{"40 iterations were dropped because 510 users were busy"}
	return r
}

func fail(s *result.Series, i int) {
	s.Sent++
	kind, example := "reset", "read tcp 127.0.0.1:51034->127.0.0.1:8080: connection reset by peer"
	if i%4 == 1 {
		kind, example = "timeout", "no response within 60s"
	}
	s.Fail(kind, start.Add(time.Duration(i)*time.Second+14*time.Millisecond), example)
}

// Repeats returns n results of the same plan, whose latencies and rates are those of Closed times factor, with a noise of
// a percent or so.
func Repeats(n int, factor float64, seed uint64) []*result.Result {
	random := rand.New(rand.NewPCG(seed, 7))
	all := make([]*result.Result, n)
	for i := range all {
		r := base("raw", 10)
		r.Started, r.Ended = r.Started.Add(time.Duration(i)*time.Minute), r.Ended.Add(time.Duration(i)*time.Minute)
		noise := factor * (0.99 + 0.02*random.Float64())
		calls := int64(20_000 / noise)
		for _, name := range []string{"home", "items"} {
			s := result.NewSeries("default", name)
			for range calls / 2 {
				d := time.Duration(noise * float64(latency(random, 500*time.Microsecond)))
				exchange(s, d, d, false)
			}
			r.Series = append(r.Series, s)
		}
		r.Scenarios = []result.Scenario{{Name: "default", Executor: "constant-vus", VUs: 16, Duration: 10 * time.Second}}
		r.Plan.Connections = 16
		r.Generator = generator(calls, 0)
		r.Generator.PerCall = time.Duration(8000 * (0.99 + 0.02*random.Float64()))
		r.Server = &result.Server{PID: 1, PerCall: time.Duration(20_000 * noise), CPU: time.Duration(float64(calls) * 20_000 * noise), MaxRSS: 20 << 20}
		all[i] = r
	}
	return all
}

func base(engine string, length int) *result.Result {
	return &result.Result{
		Schema:  result.Schema,
		Tool:    result.Tool{Name: "gallop-load", Version: "v0.0.0-test", Go: "go1.26.0", Engine: engine},
		Host:    result.Host{OS: "linux", Kernel: "6.12.0", CPU: "Test CPU", CPUs: 2, LoadBefore: 0.25},
		Target:  result.Target{Proto: "HTTP/1.1", Peer: "127.0.0.1:8080"},
		Plan:    result.Plan{Name: "example", Parts: 1, WarmUp: 2 * time.Second},
		Started: start, Ended: start.Add(time.Duration(length) * time.Second),
	}
}

func generator(calls int64, gc time.Duration) result.Generator {
	per := 8 * time.Microsecond
	return result.Generator{CPU: time.Duration(calls) * per, PerCall: per, GCPause: gc, MaxRSS: 31 << 20}
}

// latency returns durations whose logarithms are spread normally around the median.
func latency(random *rand.Rand, median time.Duration) time.Duration {
	return time.Duration(float64(median) * math.Exp(0.45*random.NormFloat64()))
}

func exchange(s *result.Series, response, service time.Duration, unexpected bool) {
	s.Sent++
	s.Done++
	p := &s.Phases
	p.Blocked.Add(response - service)
	p.Sending.Add(service / 20)
	p.Waiting.Add(service * 16 / 20)
	p.Receiving.Add(service * 3 / 20)
	if unexpected {
		s.Unexpected++
		s.Status[406]++
		s.UnexpectedResponse.Add(response)
		return
	}
	s.Status[200]++
	s.Response.Add(response)
	s.Service.Add(service)
}

// seconds collects a row of the time line.
type seconds struct {
	h    result.Histogram
	heat [result.HeatRows]int64
}

func (s *seconds) add(d time.Duration) {
	s.h.Add(d)
	s.heat[result.HeatRow(d)]++
}

func (s *seconds) row(i int, due, users int64) result.Second {
	n := s.h.Count()
	return result.Second{T: time.Duration(i) * time.Second, Length: time.Second, Due: due, Sent: n, Done: n,
		P50: s.h.Quantile(0.5), P90: s.h.Quantile(0.9), P99: s.h.Quantile(0.99), Max: s.h.Max(),
		Users: users, Conns: users, InFlight: users, CPU: time.Duration(n) * 8 * time.Microsecond, Heat: s.heat[:]}
}
