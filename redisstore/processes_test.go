package redisstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
	"github.com/redis/go-redis/v9"
)

// The tests in this file start other processes, which share a Redis. A process is this test binary with a job in its environment.

// job is the work of a process.
type job struct {
	Addr      string // of Redis
	Requests  int
	Rate      middleware.Rate
	Algorithm middleware.RateAlgorithm
	Keys      int    // of Idempotency; 0 tests the Limiter
	Pages     int    // of Cache; 0 tests something else
	Listen    string // the address of a server with sessions, which runs until its input ends; "" tests something else
}

// report is the result of a job.
type report struct {
	Allowed int
	Ran     map[string]int // how often the handler ran for each key
	Bodies  map[string]string
	Elapsed time.Duration
}

func TestMain(m *testing.M) {
	text := os.Getenv("REDISSTORE_JOB")
	if text == "" {
		os.Exit(m.Run())
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(j.run())
}

// inProcesses runs a job in several processes at once.
func inProcesses(t *testing.T, n int, j job) []report {
	t.Helper()
	reports := make([]report, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			command := j.command(t.Context(), t)
			var log bytes.Buffer
			command.Stderr = &log
			out, err := command.Output()
			if err == nil {
				err = json.Unmarshal(out, &reports[i])
			}
			if err != nil {
				t.Errorf("process %d: %v: %s", i, err, log.String())
			}
		})
	}
	group.Wait()
	return reports
}

// command returns a process that has not been started.
func (j job) command(ctx context.Context, t *testing.T) *exec.Cmd {
	text, err := json.Marshal(j)
	if err != nil {
		t.Error(err)
	}
	command := exec.CommandContext(ctx, os.Args[0])
	command.Env = append(os.Environ(), "REDISSTORE_JOB="+string(text))
	return command
}

// run is the main function of a process.
func (j job) run() report {
	client := redis.NewUniversalClient(patient(j.Addr))
	defer client.Close()
	store := New(client)
	app := web.New(web.Config{Server: &gallop.Server{}})
	r := report{Ran: map[string]int{}, Bodies: map[string]string{}}
	var mu sync.Mutex
	if j.Listen != "" {
		serveSessions(app, store, j.Listen)
		return r
	}
	if j.Pages > 0 {
		return j.readPages(app, middleware.Cache{Store: store, Name: "test", Wait: time.Minute}, r)
	}
	if j.Keys == 0 {
		app.Use(middleware.Limiter{Store: store, Name: "test", Algorithm: j.Algorithm, Rates: []middleware.Rate{j.Rate}, FailClosed: true})
	} else {
		app.Use(middleware.Idempotency{Store: store, Name: "test"})
	}
	app.Post("/", func(c *web.Ctx) error {
		key := c.ReqHeader("Idempotency-Key")
		mu.Lock()
		r.Ran[key]++
		mu.Unlock()
		return c.SendString(strconv.Itoa(os.Getpid()) + " " + key)
	})
	serve := app.Handler()
	begun := time.Now()
	var next atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := next.Add(1); i <= int64(j.Requests); i = next.Add(1) {
				key := ""
				if j.Keys > 0 {
					key = fmt.Sprint("key", i%int64(j.Keys))
				}
				status, body := ask(serve, key)
				mu.Lock()
				switch {
				case status == 200:
					r.Allowed++
					r.Bodies[key] = body
				case status != 429 && status != 409:
					panic(fmt.Sprint("status ", status))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	r.Elapsed = time.Since(begun)
	return r
}

// readPages sends GET requests for pages. Each page is slow, and may be stored.
func (j job) readPages(app *web.App, cache middleware.Cache, r report) report {
	var mu sync.Mutex
	app.Use(cache)
	app.Get("/{page}", func(c *web.Ctx) error {
		mu.Lock()
		r.Ran[c.Path()]++
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		c.SetHeader("Cache-Control", "max-age=3600").Vary("X-Variant")
		return c.SendString(strconv.Itoa(os.Getpid()) + " " + c.Path())
	})
	serve := app.Handler()
	var next atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := next.Add(1); i <= int64(j.Requests); i = next.Add(1) {
				path := fmt.Sprint("/", i*int64(j.Pages)/int64(j.Requests+1))
				status, body := askFor(serve, "GET", path, "")
				mu.Lock()
				if other, ok := r.Bodies[path]; status != 200 || ok && other != body {
					panic(fmt.Sprint(path, ": ", status, " ", body, ", ", other))
				}
				r.Bodies[path] = body
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return r
}

// ask sends a POST request with an idempotency key.
func ask(serve gallop.RequestHandler, key string) (status int, body string) {
	return askFor(serve, "POST", "/", key)
}

func askFor(serve gallop.RequestHandler, method, path, key string) (status int, body string) {
	var request gallop.Request
	request.Header.SetMethod(method)
	request.SetRequestURI(path)
	request.Header.SetHost("example.com")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	ctx := new(gallop.RequestCtx)
	ctx.Init(&request, &net.TCPAddr{IP: net.IPv4(203, 0, 113, 5), Port: 1}, nil)
	serve(ctx)
	return ctx.Response.StatusCode(), string(ctx.Response.Body())
}

// requests returns how many requests a test sends: a million with GALLOP_LONG=1.
func requests() int {
	if os.Getenv("GALLOP_LONG") != "" {
		return 1_000_000
	}
	return 10_000
}

// Windows that are longer than the test let through exactly their limit, from two processes together.
func TestLimiterWindows(t *testing.T) {
	addr := startServer(t).addr
	for name, algorithm := range map[string]middleware.RateAlgorithm{"fixed": middleware.FixedWindow, "sliding": middleware.SlidingWindow} {
		t.Run(name, func(t *testing.T) {
			const limit = 3000
			rate := middleware.Rate{Limit: limit, Window: 10000 * time.Hour, Name: name}
			allowed := 0
			for _, r := range inProcesses(t, 2, job{Addr: addr, Requests: requests() / 2, Rate: rate, Algorithm: algorithm}) {
				allowed += r.Allowed
			}
			if allowed != limit {
				t.Errorf("%d requests were allowed, want %d", allowed, limit)
			}
		})
	}
}

// A token bucket never lets through more than its burst and its rate, and hardly less.
func TestLimiterTokenBucket(t *testing.T) {
	const limit, burst = 700, 700 // tokens come back at intervals that are no whole number of microseconds
	rate := middleware.Rate{Limit: limit, Window: time.Second, Burst: burst}
	allowed, longest := 0, time.Duration(0)
	begun := time.Now()
	for _, r := range inProcesses(t, 2, job{Addr: startServer(t).addr, Requests: requests(), Rate: rate}) {
		allowed, longest = allowed+r.Allowed, max(longest, r.Elapsed)
	}
	most := burst + limit*time.Since(begun).Seconds()
	if float64(allowed) > most {
		t.Errorf("%d requests were allowed in %v, want at most %.0f", allowed, longest, most)
	}
	if least := 0.9 * limit * longest.Seconds(); float64(allowed) < least {
		t.Errorf("%d requests were allowed in %v, want at least %.0f", allowed, longest, least)
	}
}

// The handler runs once for each idempotency key, in one of the processes, and all clients get the same response.
func TestIdempotency(t *testing.T) {
	const keys = 2000
	runOnceEach(t, keys, job{Requests: requests(), Keys: keys})
}

// The handler runs once for each page, in one of the processes, and all clients get the same page.
func TestCache(t *testing.T) {
	const pages = 200
	runOnceEach(t, pages, job{Requests: requests(), Pages: pages})
}

// runOnceEach runs a job in two processes. For each of n keys, the handler has to run once, and all responses have to be equal.
func runOnceEach(t *testing.T, n int, j job) {
	t.Helper()
	j.Addr = startServer(t).addr
	ran, bodies := map[string]int{}, map[string]string{}
	for _, r := range inProcesses(t, 2, j) {
		for key, n := range r.Ran {
			ran[key] += n
		}
		for key, body := range r.Bodies {
			if other := bodies[key]; other != "" && other != body {
				t.Errorf("%s has two responses: %q and %q", key, other, body)
			}
			bodies[key] = body
		}
	}
	if len(ran) != n || len(bodies) != n {
		t.Errorf("the handler ran for %d keys, and %d have a response, want %d", len(ran), len(bodies), n)
	}
	for key, n := range ran {
		if n != 1 || !strings.HasSuffix(bodies[key], key) {
			t.Fatalf("the handler ran %d times for %s, whose response is %q", n, key, bodies[key])
		}
	}
}

// If Redis goes away, requests reach the handler. When Redis is back, the cache works again.
func TestCacheWithoutRedis(t *testing.T) {
	server := startServer(t)
	app := web.New(web.Config{Server: &gallop.Server{}})
	store := New(server.open(t))
	app.Use(middleware.Cache{Store: store, Name: "test"})
	calls := 0
	app.Get("/", func(c *web.Ctx) error {
		calls++
		c.SetHeader("Cache-Control", "max-age=3600")
		return c.SendString("ok")
	})
	serve := app.Handler()
	for _, step := range []struct {
		when   string
		change func()
		calls  int
	}{
		{"at first", func() {}, 1},
		{"without Redis", server.stop, 3},
		{"with an empty Redis", func() {
			server.start(t)
			eventually(t, "the client has connected", func() error { return store.Delete(t.Context(), "k") })
		}, 1},
	} {
		step.change()
		calls = 0
		for range 3 {
			if status, body := askFor(serve, "GET", "/", ""); status != 200 || body != "ok" {
				t.Errorf("%s: %d %q", step.when, status, body)
			}
		}
		if calls != step.calls {
			t.Errorf("%s: the handler ran %d times, want %d", step.when, calls, step.calls)
		}
	}
}

// If Redis goes away while requests arrive, the limiter counts in the process, and goes on with Redis when it is back.
func TestLimiterWithoutRedis(t *testing.T) {
	server := startServer(t)
	app := web.New(web.Config{Server: &gallop.Server{}})
	store := New(server.open(t))
	app.Use(middleware.Limiter{Store: store, Name: "test", Rates: []middleware.Rate{{Limit: 3, Window: time.Hour}}})
	app.Post("/", func(c *web.Ctx) error { return c.SendString("ok") })
	serve := app.Handler()
	count := func() (allowed int) {
		for range 6 {
			if status, _ := ask(serve, ""); status == 200 {
				allowed++
			}
		}
		return allowed
	}
	for _, step := range []struct {
		when    string
		change  func()
		allowed int
	}{
		{"at first", func() {}, 3},
		{"without Redis", server.stop, 3},
		{"still without Redis", func() {}, 0},
		{"with an empty Redis", func() {
			server.start(t)
			eventually(t, "the client has connected", func() error { return store.Delete(t.Context(), "k") })
		}, 3},
	} {
		step.change()
		time.Sleep(1100 * time.Millisecond) // the Limiter remembers for a second that Redis has refused a client
		if got := count(); got != step.allowed {
			t.Errorf("%s: %d requests were allowed, want %d", step.when, got, step.allowed)
		}
	}
}

func BenchmarkStore(b *testing.B) {
	store := New(startServer(b).open(b))
	for name, call := range map[string]func() error{
		"Get":  func() error { _, _, err := store.Get(b.Context(), "k"); return err },
		"Incr": func() error { _, _, err := store.Incr(b.Context(), "n", 1, time.Hour); return err },
		"Take": func() error {
			_, err := store.Take(b.Context(), 1, []middleware.Bucket{{Key: "b", Limit: 1e6, Window: time.Second}})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := call(); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
