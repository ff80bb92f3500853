package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// fragile is a handler whose requests end as its client says.
type fragile struct{ calls atomic.Int64 }

func (f *fragile) serve(c *web.Ctx) error {
	f.calls.Add(1)
	switch c.Query("end") {
	case "error":
		return errors.New("no database")
	case "500":
		return c.SendStatus(500)
	case "404":
		return web.ErrNotFound
	case "canceled":
		return fmt.Errorf("query: %w", context.Canceled)
	case "timeout":
		return context.DeadlineExceeded
	case "panic":
		panic("index out of range")
	case "slow":
		time.Sleep(time.Minute)
	case "slow-error":
		time.Sleep(time.Minute)
		return errors.New("no database")
	}
	return c.SendString("ok")
}

func newFragile(breaker middleware.CircuitBreaker) (*fragile, *web.App) {
	f := new(fragile)
	app := newApp(middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) {}}, breaker)
	app.Get("/", f.serve)
	return f, app
}

func TestCircuitBreaker(t *testing.T) {
	for _, end := range []string{"error", "500", "timeout", "panic"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var changes []bool
				f, app := newFragile(middleware.CircuitBreaker{MinRequests: 6, Ratio: 0.5, OnChange: func(open bool) { changes = append(changes, open) }})
				for i := range 3 {
					if a := ask(t, app, "GET", "/"); a.status != 200 {
						t.Fatalf("request %d: %d", i, a.status)
					}
				}
				for range 3 {
					ask(t, app, "GET", "/?end="+end)
				}
				a := ask(t, app, "GET", "/")
				if a.status != 503 || f.calls.Load() != 6 {
					t.Fatalf("open: %d after %d calls, want 503 after 6", a.status, f.calls.Load())
				}
				if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 5 || wait > 8 {
					t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
				}
				time.Sleep(5*time.Second - time.Nanosecond)
				if a := ask(t, app, "GET", "/"); a.status != 503 {
					t.Errorf("before the pause ends: %d", a.status)
				}
				time.Sleep(time.Nanosecond)
				ask(t, app, "GET", "/?end="+end) // the probe
				if a := ask(t, app, "GET", "/"); a.status != 503 || f.calls.Load() != 7 {
					t.Errorf("after a failed probe: %d after %d calls", a.status, f.calls.Load())
				}
				time.Sleep(5 * time.Second)
				for i := range 3 {
					if a := ask(t, app, "GET", "/"); a.status != 200 {
						t.Errorf("request %d after the pause: %d", i, a.status)
					}
				}
				for range 5 { // too few in this window
					ask(t, app, "GET", "/?end=404")
				}
				if fmt.Sprint(changes) != "[true false]" {
					t.Errorf("changes: %v", changes)
				}
			})
		})
	}
}

// Responses that are the client's fault, canceled requests and old failures do not open the circuit.
func TestCircuitBreakerStaysClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, app := newFragile(middleware.CircuitBreaker{MinRequests: 4})
		for range 20 {
			ask(t, app, "GET", "/?end=404")
			ask(t, app, "GET", "/?end=canceled")
		}
		for range 10 {
			ask(t, app, "GET", "/?end=error")
			time.Sleep(4 * time.Second) // at most three within a window
		}
		if a := ask(t, app, "GET", "/"); a.status != 200 {
			t.Errorf("%d", a.status)
		}
	})
}

// Only as many probes run at a time as the settings say. A probe that is canceled makes room for another one.
func TestCircuitBreakerProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, app := newFragile(middleware.CircuitBreaker{MinRequests: 1, Probes: 2})
		ask(t, app, "GET", "/?end=error")
		time.Sleep(5 * time.Second)
		ask(t, app, "GET", "/?end=canceled")
		before := f.calls.Load()
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() { ask(t, app, "GET", "/?end=slow") })
		}
		synctest.Wait()
		if n := f.calls.Load() - before; n != 2 {
			t.Errorf("%d probes ran, want 2", n)
		}
		if a := ask(t, app, "GET", "/"); a.status != 503 {
			t.Errorf("beside two probes: %d", a.status)
		}
		group.Wait()
		if a := ask(t, app, "GET", "/"); a.status != 200 {
			t.Errorf("after two probes: %d", a.status)
		}
	})
}

// A request that began before the circuit opened does not open it again when it fails after the circuit has closed.
func TestCircuitBreakerLateResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, app := newFragile(middleware.CircuitBreaker{MinRequests: 1})
		var group sync.WaitGroup
		group.Go(func() { ask(t, app, "GET", "/?end=slow-error") })
		synctest.Wait()
		ask(t, app, "GET", "/?end=error")
		time.Sleep(5 * time.Second)
		ask(t, app, "GET", "/")
		group.Wait()
		if a := ask(t, app, "GET", "/"); a.status != 200 {
			t.Errorf("%d", a.status)
		}
	})
}

func TestCircuitBreakerSettings(t *testing.T) {
	for name, breaker := range map[string]middleware.CircuitBreaker{
		"ratio": {Ratio: 1.5}, "negative ratio": {Ratio: -1}, "requests": {MinRequests: -1}, "window": {Window: -1}, "pause": {OpenFor: -1}, "probes": {Probes: -1},
	} {
		t.Run(name, func(t *testing.T) { mustPanic(t, "out of its range", func() { breaker.Handler() }) })
	}
	failed := middleware.CircuitBreaker{MinRequests: 1, Failed: func(c *web.Ctx, _ error) bool { return c.Query("fail") != "" }}
	f, app := newFragile(failed)
	ask(t, app, "GET", "/?end=error")
	ask(t, app, "GET", "/?fail=1")
	ask(t, app, "GET", "/")
	if n := f.calls.Load(); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

func TestCircuitBreakerConcurrently(t *testing.T) {
	f, app := newFragile(middleware.CircuitBreaker{MinRequests: 10, Window: 10 * time.Millisecond, OpenFor: time.Microsecond})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 200 {
				ask(t, app, "GET", "/?end="+[]string{"", "error", "canceled"}[(i+n)%3])
			}
		})
	}
	group.Wait()
	time.Sleep(time.Millisecond)
	if a := ask(t, app, "GET", "/"); a.status != 200 || f.calls.Load() == 0 {
		t.Errorf("in the end: %d", a.status)
	}
}

func BenchmarkCircuitBreaker(b *testing.B) { each(b, "GET", middleware.CircuitBreaker{}, hello) }

// While the database is down, requests get 503 at once.
func ExampleCircuitBreaker() {
	app := web.New(web.Config{})
	app.Use(middleware.CircuitBreaker{MinRequests: 2, OpenFor: time.Minute})
	calls := 0
	app.Get("/", func(*web.Ctx) error { calls++; return web.NewError(502) })

	for range 4 {
		response, err := app.Test(httptest.NewRequest("GET", "/", nil))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(response.Status)
	}
	fmt.Println(calls, "calls")
	// Output:
	// 502 Bad Gateway
	// 502 Bad Gateway
	// 503 Service Unavailable
	// 503 Service Unavailable
	// 2 calls
}

// The log has a line when the circuit opens and when it closes. Refused requests are details.
func TestCircuitBreakerLogsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &records{}
		app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{
			ErrorLog: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}})
		app.Use(middleware.CircuitBreaker{MinRequests: 4})
		app.Get("/", new(fragile).serve)
		for range 2 {
			for _, end := range []string{"", "", "500", "500"} {
				ask(t, app, "GET", "/?end="+end)
			}
			for range 3 {
				if a := ask(t, app, "GET", "/"); a.status != 503 {
					t.Errorf("status %d", a.status)
				}
			}
			time.Sleep(5 * time.Second)
			ask(t, app, "GET", "/?end=error") // a failed probe is no change
			time.Sleep(5 * time.Second)
			ask(t, app, "GET", "/")
		}
		app.Close()
		for want, n := range map[string]int{
			"level=WARN msg=\"circuit opened, because too many requests failed\" method=GET path=/ failed=2 of=4 pause=5s\n": 2,
			"level=INFO msg=\"circuit closed\" method=GET path=/ refused=3\n":                                                2,
			"level=DEBUG msg=\"circuit is open: request refused\"":                                                           6,
			"level=ERROR": 2, // the probes
		} {
			if got := strings.Count(log.String(), want); got != n {
				t.Errorf("%q: %d times, want %d:\n%s", want, got, n, log)
			}
		}
	})
}
