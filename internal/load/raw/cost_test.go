package raw

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// hello is a stateless script with a prepared request.
type hello struct{ req script.Request }

func (h *hello) Names() []string               { return []string{"hello"} }
func (h *hello) NewUser(int) script.User       { return h }
func (h *hello) Stateless()                    {}
func (h *hello) Next() (*script.Request, bool) { return &h.req, true }
func (h *hello) Done(*script.Response)         {}

func newHello(wire bool) *hello {
	h := &hello{req: script.Request{Method: "GET", Path: "/"}}
	if wire {
		h.req.Wire = []byte("GET / HTTP/1.1\r\nHost: load.test\r\n\r\n")
	}
	return h
}

// TestCost puts the server at GALLOP_LOAD_TARGET under load for five seconds, and logs what a request costs this process. With
// GALLOP_LOAD_RATE, it is an open loop. With GALLOP_LOAD_HTTP2, it uses HTTP/2.
//
//	GOMAXPROCS=1 GALLOP_LOAD_TARGET=127.0.0.1:8080 taskset -c 1 ./raw.test -test.run TestCost -test.v
func TestCost(t *testing.T) {
	target := os.Getenv("GALLOP_LOAD_TARGET")
	if target == "" {
		t.Skip("needs a server at GALLOP_LOAD_TARGET")
	}
	l := script.Load{VUs: 64, Duration: 5 * time.Second, Grace: time.Second}
	if rate, _ := strconv.ParseFloat(os.Getenv("GALLOP_LOAD_RATE"), 64); rate > 0 {
		l.Executor, l.Rate = script.ConstantArrivalRate, rate
	}
	o := &engine.Options{Address: target, Scheme: "http", Proto: engine.HTTP1}
	if os.Getenv("GALLOP_LOAD_HTTP2") != "" {
		o.Proto = engine.HTTP2
	}
	o.Grain, _ = time.ParseDuration(os.Getenv("GALLOP_LOAD_GRAIN"))
	before := processCPU()
	tr := transport{driver: defaultDriver, http2: o.Proto == engine.HTTP2}
	if os.Getenv("GALLOP_LOAD_NET") != "" {
		tr.driver = newNetDriver
	}
	sum := tr.load(t, t.Context(), o, scenario1(newHello(o.Proto == engine.HTTP1), l))
	s := sum.series[0]
	cpu := processCPU() - before
	t.Logf("%d requests, %d failed, %d due; %v CPU per request; p50 %v, p99 %v, max %v; service p50 %v; lag p50 %v, p99 %v, max %v; cpu %v of %v", s.Done, s.Failed, s.Due, cpu/time.Duration(max(s.Done, 1)),
		s.Response.Quantile(0.5), s.Response.Quantile(0.99), s.Response.Max(), s.Service.Quantile(0.5), sum.lag.Quantile(0.5), sum.lag.Quantile(0.99), sum.lag.Max(), cpu, sum.took)
	t.Logf("%d connections, errors %v", sum.opened, s.Errors)
}

// echo is a driver without sockets. Each request gets the same response at once.
type echo struct {
	t        *thread
	opening  []*conn
	asked    []*conn
	response []byte
}

func (e *echo) open(c *conn) error {
	e.opening = append(e.opening, c)
	return nil
}

func (e *echo) write(c *conn, p []byte) (int, error) {
	e.asked = append(e.asked, c)
	return len(p), nil
}

func (e *echo) wait(time.Duration) {
	for _, c := range e.opening {
		e.t.connected(c, 0, false)
	}
	asked := len(e.asked)
	for i := range asked {
		e.asked[i].input(e.response)
		e.t.goOn(perEvent)
	}
	e.opening, e.asked = e.opening[:0], e.asked[:copy(e.asked, e.asked[asked:])]
}

func (e *echo) close(*conn)         {}
func (e *echo) shut(*conn) error    { return nil }
func (e *echo) reset(*conn)         {}
func (e *echo) sleep(time.Duration) {}
func (e *echo) stop()               {}

// TestNoAllocations shows that a closed loop allocates nothing per request.
func TestNoAllocations(t *testing.T) {
	tr := transport{driver: func(t *thread) (driver, error) {
		return &echo{t: t, response: []byte("HTTP/1.1 200 OK\r\nContent-Length: 13\r\nServer: x\r\n\r\nHello, World!")}, nil
	}}
	allocations := func(n int64, s script.Script) int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sum := tr.load(t, t.Context(), &engine.Options{Address: "127.0.0.1:1", Scheme: "http"}, scenario1(s, iterations(n, 8)))
		runtime.ReadMemStats(&after)
		if sum.series[0].Done != n {
			t.Fatalf("%d of %d requests done", sum.series[0].Done, n)
		}
		return int64(after.Mallocs - before.Mallocs)
	}
	for name, s := range map[string]script.Script{"with bytes": newHello(true), "with fields": newHello(false), "with users": get("/")} {
		allocations(1000, s)
		few, many := allocations(1000, s), allocations(101_000, s)
		if perRequest := float64(many-few) / 100_000; perRequest > 0.01 {
			t.Errorf("%s: %v allocations per request", name, perRequest)
		}
	}
}

// BenchmarkRequest measures everything but the kernel.
func BenchmarkRequest(b *testing.B) {
	o := &engine.Options{Address: "127.0.0.1:1", Scheme: "http"}
	newDriver := func(t *thread) (driver, error) {
		return &echo{t: t, response: []byte("HTTP/1.1 200 OK\r\nContent-Length: 13\r\nServer: x\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\n\r\nHello, World!")}, nil
	}
	sink := func(p *result.Period) *result.Period { p.Reset(); return p }
	if err := run(b.Context(), o, []engine.Scenario{scenario1(newHello(true), iterations(int64(b.N), 64))}, sink, newDriver); err != nil {
		b.Fatal(err)
	}
}
