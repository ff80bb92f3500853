package middleware_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
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

// corrupting is a store that returns another value than the one that was set.
type corrupting struct {
	*middleware.MemoryStore
	value, key string
	on         bool
}

func (s *corrupting) Get(ctx context.Context, key string) ([]byte, bool, error) {
	s.key = key
	if s.on {
		return []byte(s.value), true, nil
	}
	return s.MemoryStore.Get(ctx, key)
}

// ending is a store that fails when it is told to.
type ending struct {
	*middleware.MemoryStore
	failing atomic.Bool
}

var errEnding = errors.New("the store is gone")

func (s *ending) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if s.failing.Load() {
		return nil, false, errEnding
	}
	return s.MemoryStore.Get(ctx, key)
}

func (s *ending) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if s.failing.Load() {
		return errEnding
	}
	return s.MemoryStore.Set(ctx, key, value, ttl)
}

// direct calls the handler of an app. The context of the request is done when ctx is done. Names of headers and their values take turns in
// fields.
func direct(ctx context.Context, app *web.App, target string, fields ...string) answer {
	var request gallop.Request
	request.SetRequestURI(target)
	request.Header.SetHost("example.com")
	for i := 0; i < len(fields); i += 2 {
		request.Header.Add(fields[i], fields[i+1])
	}
	r := new(gallop.RequestCtx)
	r.Init(&request, &net.TCPAddr{IP: net.IPv4(203, 0, 113, 5), Port: 1}, newQuiet())
	r.InitContext(ctx)
	app.Handler()(r)
	a := answer{r.Response.StatusCode(), string(r.Response.Body()), http.Header{}}
	for name, value := range r.Response.Header.All() {
		a.header.Add(string(name), string(value))
	}
	return a
}

// together sends n requests at the same time, and returns the responses.
func together(t *testing.T, n int, app func(i int) *web.App, fields ...string) []answer {
	t.Helper()
	answers := make([]answer, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { answers[i] = ask(t, app(i), "GET", "/", fields...) })
	}
	group.Wait()
	return answers
}

func only(app *web.App) func(int) *web.App { return func(int) *web.App { return app } }

// Requests at the same time call the handler once, whatever becomes of the first one.
func TestCacheHerd(t *testing.T) {
	for name, test := range map[string]struct {
		respond func(c *web.Ctx, call int) error
		calls   int           // of 20 requests
		most    time.Duration // that all requests take
	}{
		"stored": {func(c *web.Ctx, _ int) error { c.SetHeader("Cache-Control", "max-age=60"); return c.SendString("a") }, 1, time.Second},
		"stored as a variant": {func(c *web.Ctx, _ int) error {
			c.SetHeader("Cache-Control", "max-age=60")
			c.Vary("X-A")
			return c.SendString("a")
		}, 1, time.Second},
		"private": {func(c *web.Ctx, _ int) error { c.SetHeader("Cache-Control", "private"); return c.SendString("a") }, 20, 2 * time.Second},
		"failing": {func(c *web.Ctx, _ int) error { return errors.New("failed") }, 20, 2 * time.Second},
		"a panic": {func(c *web.Ctx, _ int) error { panic("failed") }, 20, 2 * time.Second},
		"no-cache": {func(c *web.Ctx, _ int) error {
			c.SetHeader("Cache-Control", "no-cache").ETag("a")
			return c.SendString("a")
		}, 20, 2 * time.Second},
		"slower than Wait":   {func(c *web.Ctx, _ int) error { time.Sleep(time.Minute); return c.SendString("a") }, 20, 2*time.Minute + 7*time.Second},
		"a stream, no end":   {func(c *web.Ctx, call int) error { return stream(c) }, 20, time.Minute + 7*time.Second},
		"stored, second try": {func(c *web.Ctx, call int) error { return second(c, call) }, 20, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				app := newApp(middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) {}}, middleware.Cache{})
				app.Get("/", func(c *web.Ctx) error {
					call := calls.Add(1)
					time.Sleep(time.Second)
					return test.respond(c, int(call))
				})
				begun := time.Now()
				answers := together(t, 20, only(app), "X-A: 1")
				if n := int(calls.Load()); n != test.calls || time.Since(begun) > test.most {
					t.Errorf("%d calls in %v, want %d and %v: %v", n, time.Since(begun), test.calls, test.most, answers[0])
				}
				collapsed := 0
				for _, a := range answers {
					if strings.Contains(a.header.Get("Cache-Status"), "collapsed") {
						collapsed++
					}
				}
				if test.calls == 1 && collapsed != 19 {
					t.Errorf("%d requests were collapsed", collapsed)
				}
				if test.calls != 1 { // and the next requests do not wait for each other
					begun = time.Now()
					if together(t, 20, only(app), "X-A: 1"); time.Since(begun) > test.most {
						t.Errorf("again: %v", time.Since(begun))
					}
				}
			})
		})
	}
}

func stream(c *web.Ctx) error {
	return c.SendStreamWriter(func(w *bufio.Writer) error {
		time.Sleep(time.Minute)
		_, err := w.WriteString("late")
		return err
	})
}

func second(c *web.Ctx, call int) error {
	if call > 1 {
		c.SetHeader("Cache-Control", "max-age=60")
	}
	return c.SendString("a")
}

// If the client of the request that runs the handler goes away, another request runs the handler.
func TestCacheClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		app := newApp(middleware.Cache{})
		app.Get("/", func(c *web.Ctx) error {
			calls.Add(1)
			select {
			case <-c.Done():
				return c.Err()
			case <-time.After(2 * time.Second):
			}
			c.SetHeader("Cache-Control", "max-age=60")
			return c.SendString("a")
		})
		gone, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if a := direct(gone, app, "/"); a.status != 500 {
				t.Errorf("the client that is gone got %v", a)
			}
		})
		synctest.Wait()
		group.Go(func() {
			begun := time.Now()
			for _, a := range together(t, 9, only(app)) {
				if a.body != "a" || time.Since(begun) > 4*time.Second {
					t.Errorf("%v after %v", a, time.Since(begun))
				}
			}
		})
		time.Sleep(time.Second)
		leave()
		group.Wait()
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
		waits, stop := context.WithCancel(t.Context()) // and a client that waits may go, too
		time.Sleep(61 * time.Second)
		group.Go(func() { ask(t, app, "GET", "/") })
		synctest.Wait()
		group.Go(func() {
			begun := time.Now()
			if a := direct(waits, app, "/"); a.status != 500 || time.Since(begun) > time.Second {
				t.Errorf("the client that is gone got %v after %v", a, time.Since(begun))
			}
		})
		time.Sleep(time.Second)
		stop()
		group.Wait()
	})
}

// While one request revalidates, the others get the stale response (RFC 5861 §3).
func TestCacheStaleWhileRevalidate(t *testing.T) {
	for control, stale := range map[string]int{
		"max-age=10, stale-while-revalidate=10":                   19,
		"max-age=10, stale-while-revalidate=4":                    0, // too short
		"max-age=10, stale-while-revalidate=10, must-revalidate":  0,
		"max-age=10, stale-while-revalidate=10, proxy-revalidate": 0,
		"s-maxage=10, stale-while-revalidate=10":                  0,
	} {
		synctest.Test(t, func(t *testing.T) {
			for _, shared := range []bool{false, true} {
				var calls atomic.Int64
				m := middleware.Cache{}
				if shared {
					m.Store, m.Name = new(middleware.MemoryStore), "test"
				}
				app := newApp(m)
				app.Get("/", func(c *web.Ctx) error {
					n := calls.Add(1)
					time.Sleep(time.Second)
					c.SetHeader("Cache-Control", control)
					return c.SendString(fmt.Sprint(n))
				})
				ask(t, app, "GET", "/")
				time.Sleep(15 * time.Second)
				old, begun := 0, time.Now()
				for _, a := range together(t, 20, only(app)) {
					if a.body == "1" {
						old++
						a.want(t, "Cache-Status", "gallop; hit; ttl=-5")
						a.want(t, "Age", "15")
					}
				}
				if old != stale || calls.Load() != 2 || time.Since(begun) > time.Second+60*time.Millisecond {
					t.Errorf("%s: %d stale responses, %d calls in %v", control, old, calls.Load(), time.Since(begun))
				}
				if a := ask(t, app, "GET", "/"); a.body != "2" {
					t.Errorf("%s: %v", control, a)
				}
			}
		})
	}
}

// If the handler fails, clients get the stale response, and the failure is logged (RFC 5861 §4).
func TestCacheStaleIfError(t *testing.T) {
	for name, test := range map[string]struct {
		control string
		fail    func(c *web.Ctx) error
		request string
		want    bool
	}{
		"an error":        {"stale-if-error=10", func(*web.Ctx) error { return errors.New("failed") }, "", true},
		"503":             {"stale-if-error=10", func(*web.Ctx) error { return web.NewError(503) }, "", true},
		"a response":      {"stale-if-error=10", func(c *web.Ctx) error { return c.SendStatus(502) }, "", true},
		"404":             {"stale-if-error=10", func(*web.Ctx) error { return web.NewError(404) }, "", false},
		"501":             {"stale-if-error=10", func(c *web.Ctx) error { return c.SendStatus(501) }, "", false},
		"too stale":       {"stale-if-error=4", func(*web.Ctx) error { return web.NewError(503) }, "", false},
		"must-revalidate": {"stale-if-error=10, must-revalidate", func(*web.Ctx) error { return web.NewError(503) }, "", false},
		"no-cache":        {"stale-if-error=10, no-cache", func(*web.Ctx) error { return web.NewError(503) }, "", false},
		"the client":      {"stale-if-error=10", func(*web.Ctx) error { return web.NewError(503) }, "no-cache", false},
		"nothing":         {"stale-while-revalidate=1", func(*web.Ctx) error { return web.NewError(503) }, "", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var failing atomic.Bool
			app := newApp(middleware.Cache{})
			app.Get("/", func(c *web.Ctx) error {
				time.Sleep(time.Second)
				c.SetHeader("Content-Encoding", "x").SetHeader("X-Call", fmt.Sprint(failing.Load()))
				if failing.Load() {
					return test.fail(c)
				}
				c.SetHeader("Content-Encoding", "identity").SetHeader("Cache-Control", "max-age=10, "+test.control).ETag("a")
				return c.SendString("page")
			})
			ask(t, app, "GET", "/")
			failing.Store(true)
			time.Sleep(14 * time.Second)
			for _, a := range together(t, 5, only(app), "Cache-Control: "+test.request) {
				if got := a.status == 200 && a.body == "page"; got != test.want {
					t.Errorf("%s: %v, want stale: %v", name, a, test.want)
				}
				if test.want {
					a.want(t, "Content-Encoding", "identity")
					a.want(t, "Age", "15")
				}
			}
		})
	}
}

// A response that a handler began to make before an invalidation is not stored after it, and a request after the invalidation does not
// wait for it.
func TestCacheInvalidationDuringFill(t *testing.T) {
	for _, vary := range []string{"", "X-A"} {
		synctest.Test(t, func(t *testing.T) {
			version := atomic.Int64{}
			app := newApp(middleware.Cache{})
			app.Get("/", func(c *web.Ctx) error {
				seen := version.Load()
				time.Sleep(time.Second)
				c.SetHeader("Cache-Control", "max-age=60").Vary(vary)
				return c.SendString(fmt.Sprint(seen))
			})
			app.Post("/", func(c *web.Ctx) error { version.Add(1); return nil })
			var group sync.WaitGroup
			for step := range 3 {
				group.Go(func() { ask(t, app, "GET", "/") })
				time.Sleep(500 * time.Millisecond)
				ask(t, app, "POST", "/")
				for range 3 * (step % 2) { // in other steps, no later response replaces the old one
					if a := ask(t, app, "GET", "/"); a.body != fmt.Sprint(version.Load()) {
						t.Errorf("step %d: %q after the change to version %d", step, a.body, version.Load())
					}
				}
				time.Sleep(5 * time.Second)
				group.Wait()
				if a := ask(t, app, "GET", "/"); a.body != fmt.Sprint(version.Load()) {
					t.Errorf("step %d: %q is stored, although the version is %d", step, a.body, version.Load())
				}
				time.Sleep(2 * time.Minute)
			}
		})
	}
}

// A handler that is slower than the store remembers an invalidation does not store its response.
func TestCacheSlowFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version, takes := atomic.Int64{}, 70*time.Second
		app := newApp(middleware.Cache{})
		app.Get("/", func(c *web.Ctx) error {
			seen := version.Load()
			time.Sleep(takes)
			c.SetHeader("Cache-Control", "max-age=600")
			return c.SendString(fmt.Sprint(seen))
		})
		app.Post("/", func(c *web.Ctx) error { version.Add(1); return nil })
		var group sync.WaitGroup
		group.Go(func() { ask(t, app, "GET", "/") })
		time.Sleep(time.Second)
		ask(t, app, "POST", "/")
		group.Wait()
		takes = time.Second
		if a := ask(t, app, "GET", "/"); a.body != "1" {
			t.Errorf("%v", a)
		}
	})
}

// A visitor with a cookie waits with others, but does not get a response of which only TTL says that it may be stored.
func TestCacheHerdWithCookie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newApp(middleware.Cache{TTL: time.Minute})
		app.Get("/", func(c *web.Ctx) error { time.Sleep(time.Second); return c.SendString("for " + c.Cookies("user")) })
		var group sync.WaitGroup
		group.Go(func() { ask(t, app, "GET", "/") })
		synctest.Wait()
		if a := ask(t, app, "GET", "/", "Cookie: user=ada"); a.body != "for ada" {
			t.Errorf("%q", a.body)
		}
		group.Wait()
	})
}

// Requests for streams of events do not wait for each other.
func TestCacheEventStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newApp(middleware.Cache{})
		app.Get("/", func(c *web.Ctx) error { time.Sleep(time.Minute); return c.SendString("event") })
		begun := time.Now()
		if together(t, 5, only(app), "Accept: text/event-stream"); time.Since(begun) != time.Minute {
			t.Errorf("%v", time.Since(begun))
		}
	})
}

// Two caches that share a store run the handler once, and see each other's responses and invalidations.
func TestCacheProcesses(t *testing.T) {
	for _, vary := range []string{"", "X-A"} {
		synctest.Test(t, func(t *testing.T) {
			use := middleware.Cache{Store: new(middleware.MemoryStore), Name: "test"}
			var calls atomic.Int64
			var apps []*web.App
			for range 2 {
				app := newApp(use)
				app.Get("/", func(c *web.Ctx) error {
					n := calls.Add(1)
					time.Sleep(time.Second)
					c.SetHeader("Cache-Control", "max-age=60").Vary(vary)
					return c.SendString(fmt.Sprint(n))
				})
				app.Post("/", says("ok"))
				apps = append(apps, app)
			}
			both := func(i int) *web.App { return apps[i%2] }
			for round := range 3 {
				begun := time.Now()
				for _, a := range together(t, 20, both, "X-A: 1") {
					if a.body != fmt.Sprint(round+1) {
						t.Errorf("round %d: %v", round, a)
					}
				}
				if calls.Load() != int64(round+1) || time.Since(begun) > 1100*time.Millisecond {
					t.Errorf("round %d: %d calls in %v", round, calls.Load(), time.Since(begun))
				}
				ask(t, apps[round%2], "POST", "/")
			}
		})
	}
}

// If a process dies while its handler runs, the others wait no longer than Wait.
func TestCacheDeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(middleware.MemoryStore)
		leases := &keeping{MemoryStore: store}
		dying, living := newApp(middleware.Cache{Store: leases, Name: "test"}), newApp(middleware.Cache{Store: store, Name: "test"})
		for _, app := range []*web.App{dying, living} {
			app.Get("/", func(c *web.Ctx) error { c.SetHeader("Cache-Control", "max-age=60"); return c.SendString("a") })
		}
		leases.dead = true
		ask(t, dying, "GET", "/")
		begun := time.Now()
		for _, a := range together(t, 5, only(living)) {
			if d := time.Since(begun); a.body != "a" || d > 5*time.Second || d < time.Second {
				t.Errorf("%v after %v", a, d)
			}
		}
	})
}

// keeping is a store that does not give leases back and stores no responses, like a process that has died.
type keeping struct {
	*middleware.MemoryStore
	dead bool
}

func (s *keeping) Add(ctx context.Context, key string, value []byte, ttl time.Duration) ([]byte, bool, error) {
	if s.dead && !strings.Contains(key, ":l:") {
		return nil, true, nil
	}
	return s.MemoryStore.Add(ctx, key, value, ttl)
}

func (s *keeping) CompareAndDelete(ctx context.Context, key string, old []byte) (bool, error) {
	if s.dead {
		return true, nil
	}
	return s.MemoryStore.CompareAndDelete(ctx, key, old)
}

// Without the store, requests go to the handler at once, and the log says so once in 10 seconds.
func TestCacheWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &ending{MemoryStore: new(middleware.MemoryStore)}
		log := newQuiet()
		app := web.New(web.Config{Server: &gallop.Server{Logger: log}})
		app.Use(middleware.Cache{Store: store, Name: "pages"})
		var calls atomic.Int64
		app.Get("/", func(c *web.Ctx) error {
			calls.Add(1)
			time.Sleep(time.Second)
			c.SetHeader("Cache-Control", "max-age=60")
			return c.SendString("a")
		})
		app.Post("/", says("ok"))
		store.failing.Store(true)
		begun := time.Now()
		for _, a := range together(t, 10, only(app)) {
			if a.body != "a" {
				t.Errorf("%v", a)
			}
		}
		if calls.Load() != 10 || time.Since(begun) > time.Second {
			t.Errorf("%d calls in %v", calls.Load(), time.Since(begun))
		}
		if a := ask(t, app, "POST", "/"); a.status != 200 {
			t.Errorf("%v", a)
		}
		time.Sleep(11 * time.Second)
		ask(t, app, "GET", "/")
		store.failing.Store(false)
		ask(t, app, "GET", "/")
		ask(t, app, "GET", "/").want(t, "Cache-Status", "gallop; hit; ttl=60")
		if n := len(log.lines); n != 2 {
			t.Errorf("%d lines in the log, want 2", n)
		}
		for range len(log.lines) {
			if line := <-log.lines; !strings.Contains(line, "the store of the cache failed") || !strings.Contains(line, "the store is gone") || !strings.Contains(line, "pages") {
				t.Errorf("%q", line)
			}
		}
	})
}

// Fills, invalidations and purges of many goroutines, for the race detector. A client never gets the page of another URL or
// variant, and no version that was older when the request began. Up to 7 other goroutines may have made a version that they have not
// announced yet.
func TestCacheRace(t *testing.T) {
	use := middleware.Cache{Store: new(middleware.MemoryStore), Name: "test"}
	var versions [4]atomic.Int64
	var apps [2]*web.App
	for i := range apps {
		app := newApp(use)
		app.Get("/{page<int>}", func(c *web.Ctx) error {
			page, _ := web.Params[int](c, "page")
			seen := versions[page].Load()
			c.SetHeader("Cache-Control", "max-age=60")
			if page%2 == 1 {
				c.Vary("X-A")
			}
			return c.SendString(fmt.Sprint(page, " ", c.ReqHeader("X-A"), " ", seen, strings.Repeat(".", int(seen%100))))
		})
		app.Post("/{page<int>}", func(c *web.Ctx) error {
			page, _ := web.Params[int](c, "page")
			versions[page].Add(1)
			return nil
		})
		apps[i] = app
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 300 {
				page := r.IntN(4)
				app, target := apps[r.IntN(2)], fmt.Sprint("/", page)
				if r.IntN(10) == 0 {
					request, _ := http.NewRequestWithContext(t.Context(), "POST", "http://example.com"+target, nil)
					app.Test(request)
					continue
				}
				least, variant := versions[page].Load(), ""
				if page%2 == 1 {
					variant = string(rune('a' + r.IntN(3)))
				}
				a := ask(t, app, "GET", target, "X-A: "+variant)
				var gotPage int
				var seen int64
				var gotVariant string
				if page%2 == 1 {
					fmt.Sscan(strings.TrimRight(a.body, "."), &gotPage, &gotVariant, &seen)
				} else {
					fmt.Sscan(strings.TrimRight(a.body, "."), &gotPage, &seen)
				}
				if gotPage != page || gotVariant != variant || seen < least-7 {
					t.Errorf("%s %s: %q, and the version was at least %d", target, variant, a.body, least)
				}
			}
		})
	}
	group.Wait()
}

// interrupted is a store that calls a function after its second successful Add. The first Add of a cache is its lease, and the second
// one is the record of the URI.
type interrupted struct {
	*middleware.MemoryStore
	added  int
	second func()
}

func (s *interrupted) Add(ctx context.Context, key string, value []byte, ttl time.Duration) ([]byte, bool, error) {
	existing, added, err := s.MemoryStore.Add(ctx, key, value, ttl)
	if added {
		if s.added++; s.added == 2 {
			s.second()
		}
	}
	return existing, added, err
}

// TestCacheStoresVariantBeforeList has another process look for a response at the moment at which the list of variants appears.
func TestCacheStoresVariantBeforeList(t *testing.T) {
	store := &interrupted{MemoryStore: new(middleware.MemoryStore)}
	ran := 0
	process := func() *web.App {
		app := web.New(web.Config{})
		app.Use(middleware.Cache{Store: store, Name: "test"})
		app.Get("/", func(c *web.Ctx) error {
			ran++
			c.SetHeader("Cache-Control", "max-age=60").Vary("X-Variant")
			return c.SendString(fmt.Sprint("response ", ran))
		})
		return app
	}
	first, second := process(), process()
	var other string
	store.second = func() { other = direct(t.Context(), second, "/", "X-Variant", "a").body }
	body := direct(t.Context(), first, "/", "X-Variant", "a").body
	if ran != 1 || body != "response 1" || other != body {
		t.Errorf("the handler ran %d times: %q and %q", ran, body, other)
	}
}
