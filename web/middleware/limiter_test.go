package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

var algorithms = map[string]middleware.RateAlgorithm{
	"TokenBucket": middleware.TokenBucket, "FixedWindow": middleware.FixedWindow, "SlidingWindow": middleware.SlidingWindow,
}

// eachAlgorithm runs a test with every algorithm, in virtual time.
func eachAlgorithm(t *testing.T, test func(t *testing.T, algorithm middleware.RateAlgorithm)) {
	for name, algorithm := range algorithms {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, algorithm) })
		})
	}
}

func byHeader(name string) func(c *web.Ctx) string {
	return func(c *web.Ctx) string { return c.ReqHeader(name) }
}

func TestLimiter(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, algorithm middleware.RateAlgorithm) {
		calls := 0
		app := newApp(middleware.Limiter{
			Rates: []middleware.Rate{{Limit: 3, Window: time.Minute, Name: "few"}}, Algorithm: algorithm, Key: byHeader("User"),
		})
		app.Get("/", func(c *web.Ctx) error { calls++; return c.SendString("ok") })

		for i, left := range []string{"2", "1", "0"} {
			a := ask(t, app, "GET", "/", "User: a")
			if a.status != 200 {
				t.Fatalf("request %d: %d", i, a.status)
			}
			a.want(t, "RateLimit-Policy", `"few";q=3;w=60`)
			if got := a.header.Get("RateLimit"); !strings.HasPrefix(got, `"few";r=`+left+`;t=`) {
				t.Errorf("RateLimit: %s, want %s left", got, left)
			}
			a.want(t, "Retry-After", "")
			a.want(t, "X-RateLimit-Limit", "")
		}
		refused := ask(t, app, "GET", "/", "User: a")
		if refused.status != 429 || calls != 3 {
			t.Fatalf("%d after %d calls, want 429 after 3", refused.status, calls)
		}
		wait, err := strconv.Atoi(refused.header.Get("Retry-After"))
		if err != nil || wait < 1 || wait > 120 {
			t.Errorf("Retry-After: %q", refused.header.Get("Retry-After"))
		}
		if a := ask(t, app, "GET", "/", "User: b"); a.status != 200 {
			t.Errorf("another client: %d", a.status)
		}
		time.Sleep(time.Duration(wait) * time.Second)
		if a := ask(t, app, "GET", "/", "User: a"); a.status != 200 {
			t.Errorf("after Retry-After: %d", a.status)
		}
		time.Sleep(10 * time.Minute)
		for range 3 {
			if a := ask(t, app, "GET", "/", "User: a"); a.status != 200 {
				t.Errorf("after ten minutes: %d", a.status)
			}
		}
	})
}

// Retry-After is neither too early nor more than a second too late.
func TestLimiterRetryAfter(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, algorithm middleware.RateAlgorithm) {
		random := rand.New(rand.NewPCG(1, 2))
		app := newApp(middleware.Limiter{Rates: []middleware.Rate{{Limit: 7, Window: 40 * time.Second}}, Algorithm: algorithm, Key: func(*web.Ctx) string { return "one" }})
		app.Get("/", says("ok"))
		for range 300 {
			a := ask(t, app, "GET", "/")
			if a.status == 429 {
				wait, _ := strconv.Atoi(a.header.Get("Retry-After"))
				time.Sleep(time.Duration(wait)*time.Second - time.Second - time.Millisecond)
				if early := ask(t, app, "GET", "/"); early.status != 429 {
					t.Fatalf("%d, a second before Retry-After: %d s", early.status, wait)
				}
				time.Sleep(time.Second + 2*time.Millisecond)
				if a := ask(t, app, "GET", "/"); a.status != 200 {
					t.Fatalf("%d after Retry-After: %d s", a.status, wait)
				}
			}
			time.Sleep(time.Duration(random.Int64N(int64(8 * time.Second))))
		}
	})
}

// No client gets more than the algorithm allows, whatever the times of its requests.
func TestLimiterNeverExceeds(t *testing.T) {
	t.Parallel()
	const limit, window = 20, 10 * time.Second
	requests := 1000
	if wiretest.Full() {
		requests = 3000
	}
	most := map[middleware.RateAlgorithm]int{
		middleware.TokenBucket:   2*limit + 1, // a burst and what comes back in a window
		middleware.FixedWindow:   2 * limit,
		middleware.SlidingWindow: 2 * limit, // if the requests of the previous window came late
	}
	eachAlgorithm(t, func(t *testing.T, algorithm middleware.RateAlgorithm) {
		random := rand.New(rand.NewPCG(3, 4))
		app := newApp(middleware.Limiter{Rates: []middleware.Rate{{Limit: limit, Window: window}}, Algorithm: algorithm, Key: func(*web.Ctx) string { return "one" }})
		app.Get("/", says("ok"))
		var allowed []time.Time
		for range requests {
			if ask(t, app, "GET", "/").status == 200 {
				allowed = append(allowed, time.Now())
			}
			time.Sleep(time.Duration(random.ExpFloat64() * float64(150*time.Millisecond)))
		}
		for i := range allowed {
			n := 0
			for _, at := range allowed[i:] {
				if at.Sub(allowed[i]) >= window {
					break
				}
				n++
			}
			if n > most[algorithm] {
				t.Fatalf("%d requests within %v, want at most %d", n, window, most[algorithm])
			}
		}
		elapsed := allowed[len(allowed)-1].Sub(allowed[0])
		if ideal := limit * elapsed.Seconds() / window.Seconds(); float64(len(allowed)) < 0.75*ideal {
			t.Errorf("%d requests in %v, want about %.0f", len(allowed), elapsed, ideal)
		}
	})
}

// The requests of one client at the same time, on two Apps that share a store, are counted exactly.
func TestLimiterConcurrently(t *testing.T) {
	t.Parallel()
	for name, algorithm := range algorithms {
		t.Run(name, func(t *testing.T) {
			const limit, each = 500, 300
			store := new(middleware.MemoryStore)
			var allowed atomic.Int64
			var group sync.WaitGroup
			for range 2 {
				app := newApp(middleware.Limiter{
					Rates: []middleware.Rate{{Limit: limit, Window: 10000 * time.Hour}}, Algorithm: algorithm, Store: store, Name: "test",
				})
				app.Get("/", says("ok"))
				for range 4 {
					group.Go(func() {
						for range each {
							if ask(t, app, "GET", "/").status == 200 {
								allowed.Add(1)
							}
						}
					})
				}
			}
			group.Wait()
			if allowed.Load() != limit {
				t.Errorf("%d requests were allowed, want %d", allowed.Load(), limit)
			}
		})
	}
}

// A request that one limit refuses does not count toward the others.
func TestLimiterSeveralRates(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, algorithm middleware.RateAlgorithm) {
		app := newApp(middleware.Limiter{Algorithm: algorithm, LegacyHeaders: true, Rates: []middleware.Rate{
			{Name: "long", Limit: 5, Window: time.Hour}, {Name: "short", Limit: 2, Window: time.Second},
		}})
		app.Get("/", says("ok"))
		allowed := 0
		for range 4 {
			for range 10 {
				a := ask(t, app, "GET", "/")
				a.want(t, "RateLimit-Policy", `"long";q=5;w=3600, "short";q=2;w=1`)
				if a.status == 200 {
					allowed++
				}
				if allowed == 2 && a.status == 429 {
					a.want(t, "X-RateLimit-Limit", "2")
					a.want(t, "X-RateLimit-Remaining", "0")
					if got := a.header.Get("RateLimit"); !strings.HasPrefix(got, `"long";r=3;t=`) {
						t.Errorf("RateLimit: %s; the long limit has 3 requests left", got)
					}
				}
			}
			time.Sleep(2 * time.Second)
		}
		if allowed != 5 {
			t.Errorf("%d requests were allowed, want 5", allowed)
		}
	})
}

func TestLimiterCostAndRefund(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, algorithm middleware.RateAlgorithm) {
		app := newApp(middleware.Limiter{
			Algorithm: algorithm, Rates: []middleware.Rate{{Limit: 10, Window: time.Hour}},
			Cost:   func(c *web.Ctx) int64 { n, _ := strconv.ParseInt(c.Query("cost", "1"), 10, 64); return n },
			Refund: func(_ *web.Ctx, err error) bool { return err == nil },
		})
		app.Get("/login", func(c *web.Ctx) error {
			if c.Query("password") != "right" {
				return web.NewError(401)
			}
			return c.SendString("welcome")
		})
		status := func(target string, want int) {
			t.Helper()
			if a := ask(t, app, "GET", target); a.status != want {
				t.Errorf("%s: %d, want %d", target, a.status, want)
			}
		}
		for range 30 {
			status("/login?password=right", 200)
		}
		status("/login?cost=8", 401)
		status("/login?cost=3", 429) // and costs nothing
		status("/login?cost=2", 401)
		status("/login", 429)
		status("/login?cost=0", 401)
		status("/login?cost=-5", 401)
		status("/login", 429)
		time.Sleep(3 * time.Hour)
		a := ask(t, app, "GET", "/login?cost=11")
		if a.status != 429 {
			t.Errorf("a cost over the limit: %d", a.status)
		}
		a.want(t, "Retry-After", "")
		status("/login?cost=10", 401)
	})
}

// A refund for a window that has ended gives nothing to the next window.
func TestLimiterLateRefund(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, algorithm middleware.RateAlgorithm) {
		if algorithm == middleware.TokenBucket {
			return // a bucket never holds more than its burst
		}
		slow := time.Duration(0)
		app := newApp(middleware.Limiter{
			Algorithm: algorithm, Rates: []middleware.Rate{{Limit: 2, Window: time.Minute}},
			Refund: func(c *web.Ctx, _ error) bool { return c.Query("refund") != "" },
		})
		app.Get("/", func(c *web.Ctx) error { time.Sleep(slow); return c.SendString("ok") })
		slow = 10 * time.Minute
		ask(t, app, "GET", "/?refund=1")
		slow = 0
		time.Sleep(time.Second)
		allowed := 0
		for range 10 {
			if ask(t, app, "GET", "/").status == 200 {
				allowed++
			}
		}
		if allowed != 2 {
			t.Errorf("%d requests were allowed, want 2", allowed)
		}
	})
}

// Clients cannot escape the limit with other addresses of their network, or with headers that nobody trusts.
func TestLimiterByIP(t *testing.T) {
	for _, tc := range []struct {
		name   string
		trust  bool
		froms  []string // X-Forwarded-For
		status int      // of the last one
	}{
		{"forged", false, []string{"192.0.2.1", "192.0.2.2"}, 429},
		{"two clients of a trusted proxy", true, []string{"192.0.2.1", "192.0.2.2"}, 200},
		{"one IPv6 network", true, []string{"2001:db8::1", "2001:db8::ffff:1"}, 429},
		{"two IPv6 networks", true, []string{"2001:db8::1", "2001:db8:0:1::1"}, 200},
		{"IPv4 as IPv6", true, []string{"192.0.2.1", "::ffff:192.0.2.1"}, 429},
		{"a forged first entry", true, []string{"192.0.2.1", "10.9.9.9, 192.0.2.1"}, 429},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := web.Config{}
			if tc.trust {
				config.TrustedProxies = web.PrivateNetworks()
			}
			app := web.New(config)
			app.Use(middleware.Limiter{Rates: []middleware.Rate{{Limit: 1, Window: time.Hour}}})
			app.Get("/", says("ok"))
			status := 0
			for _, from := range tc.froms {
				var request gallop.Request
				request.SetRequestURI("http://example.com/")
				request.Header.Set("X-Forwarded-For", from)
				ctx := new(gallop.RequestCtx)
				ctx.Init(&request, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}, nil)
				app.Handler()(ctx)
				status = ctx.Response.StatusCode()
			}
			if status != tc.status {
				t.Errorf("%d, want %d", status, tc.status)
			}
		})
	}
}

// Keys that clients choose do not collide with other keys, and do not grow the store without bound.
func TestLimiterKeys(t *testing.T) {
	keys := []string{"a", "a}:default", "{a}", "}", "{", "a:{b}", "A", strings.Repeat("a", 128), strings.Repeat("a", 129), strings.Repeat("a", 4000), "sha256-", "\u00e9", "a b"}
	app := newApp(middleware.Limiter{Rates: []middleware.Rate{{Limit: 1, Window: time.Hour}}, Key: byHeader("Key"), Store: new(middleware.MemoryStore), Name: "n"})
	app.Get("/", says("ok"))
	for _, key := range keys {
		if a := ask(t, app, "GET", "/", "Key: "+key); a.status != 200 {
			t.Errorf("first request of %.20q: %d", key, a.status)
		}
	}
	for _, key := range keys {
		if a := ask(t, app, "GET", "/", "Key: "+key); a.status != 429 {
			t.Errorf("second request of %.20q: %d", key, a.status)
		}
	}
	for range 3 { // without a key, nothing is limited
		if a := ask(t, app, "GET", "/"); a.status != 200 {
			t.Errorf("without a key: %d", a.status)
		}
	}
}

// failing is a store that fails while broken is set.
type failing struct {
	*middleware.MemoryStore
	broken *atomic.Bool
}

var errBroken = errors.New("connection refused")

func (f failing) Take(ctx context.Context, cost int64, buckets []middleware.Bucket) (bool, error) {
	if f.broken.Load() {
		return false, errBroken
	}
	return f.MemoryStore.Take(ctx, cost, buckets)
}

func (f failing) Incr(ctx context.Context, key string, n int64, ttl time.Duration) (int64, time.Duration, error) {
	if f.broken.Load() {
		return 0, 0, errBroken
	}
	return f.MemoryStore.Incr(ctx, key, n, ttl)
}

func TestLimiterStoreFails(t *testing.T) {
	for _, closed := range []bool{false, true} {
		eachAlgorithm(t, func(t *testing.T, algorithm middleware.RateAlgorithm) {
			store := failing{new(middleware.MemoryStore), new(atomic.Bool)}
			log := newQuiet()
			app := web.New(web.Config{Server: &gallop.Server{Logger: log}})
			app.Use(middleware.Limiter{Algorithm: algorithm, Store: store, Name: "n", Rates: []middleware.Rate{{Limit: 2, Window: time.Hour}}, FailClosed: closed})
			app.Get("/", says("ok"))
			store.broken.Store(true)
			want := []int{200, 200, 429}
			if closed {
				want = []int{503, 503, 503}
			}
			for _, want := range want {
				if a := ask(t, app, "GET", "/"); a.status != want {
					t.Errorf("without a store: %d, want %d", a.status, want)
				}
			}
			warnings := 0
			for len(log.lines) > 0 {
				if strings.Contains(<-log.lines, "rate limiter") {
					warnings++
				}
			}
			if warnings != 1 {
				t.Errorf("%d warnings, want 1", warnings)
			}
			store.broken.Store(false)
			for _, want := range []int{200, 200, 429} {
				if a := ask(t, app, "GET", "/"); a.status != want {
					t.Errorf("with the store again: %d, want %d", a.status, want)
				}
			}
		})
	}
}

// If the client is gone, the store is not blamed.
func TestLimiterClientGone(t *testing.T) {
	log := newQuiet()
	app := web.New(web.Config{Server: &gallop.Server{Logger: log}})
	app.UseFunc(func(c *web.Ctx) error {
		ctx, cancel := context.WithCancel(c.Context())
		cancel()
		return c.SetContext(ctx).Next()
	})
	var got error
	app.UseFunc(func(c *web.Ctx) error { got = c.Next(); return nil })
	app.Use(middleware.Limiter{})
	app.Get("/", says("ok"))
	ask(t, app, "GET", "/")
	if !errors.Is(got, context.Canceled) || len(log.lines) > 0 {
		t.Errorf("%v, and %d lines in the log", got, len(log.lines))
	}
}

func TestLimitError(t *testing.T) {
	var got error
	app := newApp()
	app.UseFunc(func(c *web.Ctx) error { got = c.Next(); return got })
	app.Use(middleware.Limiter{Rates: []middleware.Rate{{Limit: 1, Window: time.Minute, Name: "one"}}, HideHeaders: true})
	app.Get("/", says("ok"))
	ask(t, app, "GET", "/").want(t, "RateLimit", "")
	a := ask(t, app, "GET", "/")
	a.want(t, "RateLimit-Policy", "")
	a.want(t, "Retry-After", "60")
	var limit *middleware.LimitError
	if !errors.As(got, &limit) || limit.Rate.Name != "one" || limit.RetryAfter <= 0 || limit.RetryAfter > time.Minute {
		t.Errorf("%v", got)
	}
	if want := "middleware: over the limit of 1 requests per 1m0s"; limit.Error() != want {
		t.Errorf("%q, want %q", limit.Error(), want)
	}
}

func TestLimiterSettings(t *testing.T) {
	rate := []middleware.Rate{{Limit: 1, Window: time.Second}}
	for want, limiter := range map[string]middleware.Limiter{
		"positive Limit":      {Rates: []middleware.Rate{{Window: time.Second}}},
		"of at least a milli": {Rates: []middleware.Rate{{Limit: 1}}},
		"needs a Name":        {Rates: rate, Store: new(middleware.MemoryStore)},
		"Name \"a{b\"":        {Rates: rate, Name: "a{b"},
		"Name \"a\\\"b\"":     {Rates: []middleware.Rate{{Limit: 1, Window: time.Second, Name: `a"b`}}},
		"two Rates":           {Rates: append(rate, rate...)},
		"Burst":               {Rates: []middleware.Rate{{Limit: 1, Window: time.Second, Burst: 2}}, Algorithm: middleware.FixedWindow},
		"73 years":            {Rates: []middleware.Rate{{Limit: 1, Window: 100 * time.Hour, Burst: 1 << 40}}},
		"unknown Algorithm":   {Algorithm: 9},
		"needs a Store that":  {Store: plainStore{new(middleware.MemoryStore)}, Name: "n"},
	} {
		t.Run(want, func(t *testing.T) {
			mustPanic(t, want, func() { limiter.Handler() })
		})
	}
}

func TestLimiterBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newApp(middleware.Limiter{Rates: []middleware.Rate{{Limit: 60, Window: time.Minute, Burst: 5}}})
		app.Get("/", says("ok"))
		for i, want := range []int{200, 200, 200, 200, 200, 429} {
			if a := ask(t, app, "GET", "/"); a.status != want {
				t.Fatalf("request %d: %d, want %d", i, a.status, want)
			}
		}
		for range 20 {
			time.Sleep(time.Second)
			if a := ask(t, app, "GET", "/"); a.status != 200 {
				t.Fatalf("one a second: %d", a.status)
			}
		}
	})
}

func BenchmarkLimiter(b *testing.B) {
	each(b, "GET", middleware.Limiter{Rates: []middleware.Rate{{Limit: 1 << 40, Window: time.Second}}}, hello)
}

func ExampleLimiter() {
	app := web.New(web.Config{})
	app.Use(middleware.Limiter{Rates: []middleware.Rate{{Limit: 2, Window: time.Hour}}})
	app.Get("/", func(c *web.Ctx) error { return c.SendString("hello") })

	for range 3 {
		header := show(app, "GET", "/", "")
		fmt.Printf("limit %s, retry after %q\n", header.Get("RateLimit-Policy"), header.Get("Retry-After"))
	}
	// Output:
	// 200 hello
	// limit "default";q=2;w=3600, retry after ""
	// 200 hello
	// limit "default";q=2;w=3600, retry after ""
	// 429 Too Many Requests
	// limit "default";q=2;w=3600, retry after "1800"
}

// A Limiter with one rate finds its values in a MemoryStore under the same keys as in other stores.
func TestLimiterKeysInMemoryStore(t *testing.T) {
	for name, algorithm := range map[string]middleware.RateAlgorithm{"TokenBucket": middleware.TokenBucket, "FixedWindow": middleware.FixedWindow} {
		t.Run(name, func(t *testing.T) {
			store := new(middleware.MemoryStore)
			limiter := middleware.Limiter{Algorithm: algorithm, Store: store, Name: "n", Key: byHeader("User"),
				Rates: []middleware.Rate{{Limit: 1, Window: time.Hour}}}
			app := newApp(limiter)
			app.Get("/", says("ok"))
			limiter.Store = plainLimits{store}
			other := newApp(limiter)
			other.Get("/", says("ok"))
			limiter.Store, limiter.FailClosed = store, true
			closed := newApp(limiter)
			closed.Get("/", says("ok"))
			want := func(app *web.App, status int) {
				t.Helper()
				if a := ask(t, app, "GET", "/", "User: ada"); a.status != status {
					t.Errorf("%d, want %d", a.status, status)
				}
			}
			want(app, 200)
			want(app, 429)
			store.Delete(t.Context(), "n:{ada}:default")
			want(other, 200)
			want(other, 429)
			want(app, 429)
			store.Set(t.Context(), "n:{ada}:default", []byte("not a number"), time.Hour)
			want(closed, 503)
			want(app, 200) // counts for itself
			want(app, 429)
		})
	}
}

// plainLimits hides that a store is a MemoryStore.
type plainLimits struct{ limits }

type limits interface {
	middleware.Counter
	middleware.Taker
}
