package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// bank is a handler that must not run twice for one key.
type bank struct{ payments atomic.Int64 }

func (b *bank) pay(c *web.Ctx) error {
	n := b.payments.Add(1)
	switch c.Query("end") {
	case "slow":
		time.Sleep(5 * time.Minute)
	case "error":
		return errors.New("no database")
	case "conflict":
		return web.NewError(409)
	case "500":
		return c.SendStatus(500)
	case "panic":
		panic("index out of range")
	case "stream":
		return c.SendStream(strings.NewReader("paid"))
	case "large":
		return c.SendString(strings.Repeat("x", 2000))
	}
	c.Status(201).SetHeader("Location", "/payments/"+strconv.FormatInt(n, 10)).SetHeader("Set-Cookie", "last=1")
	c.RequestCtx().Response.Header.Add("Link", "</a>; rel=a")
	c.RequestCtx().Response.Header.Add("Link", "</b>; rel=b")
	return c.JSON(map[string]int64{"payment": n})
}

func newBank(o middleware.Idempotency) (*bank, *web.App) {
	b := new(bank)
	app := newApp(middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) {}}, middleware.RequestID{}, o)
	app.Post("/pay", b.pay)
	app.Post("/other", b.pay)
	app.Get("/pay", b.pay)
	return b, app
}

func TestIdempotency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, app := newBank(middleware.Idempotency{})
		first := ask(t, app, "POST", "/pay", "Idempotency-Key: k1", "Body: 5")
		if first.status != 201 || first.body != `{"payment":1}` {
			t.Fatalf("%d %s", first.status, first.body)
		}
		first.want(t, "Idempotency-Replayed", "")
		first.want(t, "Set-Cookie", "last=1")
		for _, key := range []string{"k1", `"k1"`} {
			again := ask(t, app, "POST", "/pay", "Idempotency-Key: "+key, "Body: 5")
			if again.status != 201 || again.body != first.body || b.payments.Load() != 1 {
				t.Errorf("%s: %d %s after %d payments", key, again.status, again.body, b.payments.Load())
			}
			again.want(t, "Idempotency-Replayed", "true")
			again.want(t, "Location", "/payments/1")
			again.want(t, "Link", "</a>; rel=a | </b>; rel=b")
			again.want(t, "Content-Type", first.header.Get("Content-Type"))
			again.want(t, "Set-Cookie", "")
			if id := again.header.Get("X-Request-Id"); id == "" || id == first.header.Get("X-Request-Id") {
				t.Errorf("the retry has the ID %q", id)
			}
		}
		time.Sleep(24*time.Hour + time.Second)
		if a := ask(t, app, "POST", "/pay", "Idempotency-Key: k1", "Body: 5"); a.body != `{"payment":2}` {
			t.Errorf("after a day: %s", a.body)
		}
	})
}

// A key stands for one request of one client.
func TestIdempotencyOtherRequest(t *testing.T) {
	for _, tc := range []struct {
		name   string
		method string
		target string
		fields []string
		status int
		paid   int64
	}{
		{"the same", "POST", "/pay?a=1", []string{"Body: 5", "Content-Type: text/plain"}, 201, 1},
		{"another body", "POST", "/pay?a=1", []string{"Body: 6", "Content-Type: text/plain"}, 422, 1},
		{"another query", "POST", "/pay?a=2", []string{"Body: 5", "Content-Type: text/plain"}, 422, 1},
		{"another type", "POST", "/pay?a=1", []string{"Body: 5", "Content-Type: text/html"}, 422, 1},
		{"another path", "POST", "/other?a=1", []string{"Body: 5", "Content-Type: text/plain"}, 201, 2},
		{"another client", "POST", "/pay?a=1", []string{"Body: 5", "Content-Type: text/plain", "Authorization: Bearer b"}, 201, 2},
		{"GET", "GET", "/pay?a=1", nil, 201, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, app := newBank(middleware.Idempotency{})
			ask(t, app, "POST", "/pay?a=1", "Idempotency-Key: k", "Body: 5", "Content-Type: text/plain")
			a := ask(t, app, tc.method, tc.target, append(tc.fields, "Idempotency-Key: k")...)
			if a.status != tc.status || b.payments.Load() != tc.paid {
				t.Errorf("%d after %d payments, want %d after %d", a.status, b.payments.Load(), tc.status, tc.paid)
			}
		})
	}
}

func TestIdempotencyKeys(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fields []string
		status int
	}{
		{"missing", nil, 400},
		{"empty", []string{"Idempotency-Key: "}, 400},
		{"empty string", []string{`Idempotency-Key: ""`}, 400},
		{"two lines", []string{"Idempotency-Key: a", "Idempotency-Key: b"}, 400},
		{"list", []string{"Idempotency-Key: a, b"}, 400},
		{"parameter", []string{`Idempotency-Key: "a";p=1`}, 400},
		{"half a string", []string{`Idempotency-Key: "a`}, 400},
		{"escape", []string{`Idempotency-Key: "a\"b"`}, 400},
		{"space", []string{"Idempotency-Key: a b"}, 400},
		{"not ASCII", []string{"Idempotency-Key: \u00e9"}, 400},
		{"too long", []string{"Idempotency-Key: " + strings.Repeat("a", 256)}, 400},
		{"longest", []string{"Idempotency-Key: " + strings.Repeat("a", 255)}, 201},
		{"UUID", []string{`Idempotency-Key: "8e03978e-40d5-43e8-bc93-6894a57f9324"`}, 201},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, app := newBank(middleware.Idempotency{Required: true})
			a := ask(t, app, "POST", "/pay", tc.fields...)
			if a.status != tc.status || (b.payments.Load() == 1) != (tc.status == 201) {
				t.Errorf("%d after %d payments, want %d", a.status, b.payments.Load(), tc.status)
			}
		})
	}
	b, app := newBank(middleware.Idempotency{})
	ask(t, app, "POST", "/pay")
	ask(t, app, "POST", "/pay")
	if b.payments.Load() != 2 {
		t.Errorf("%d payments without a key, want 2", b.payments.Load())
	}
}

// While the first request runs, retries get 409, however long that takes. Two Apps that share a store know of each other.
func TestIdempotencyRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := middleware.Idempotency{Store: new(middleware.MemoryStore), Name: "pay"}
		b, app := newBank(o)
		_, other := newBank(o)
		var group sync.WaitGroup
		group.Go(func() {
			if a := ask(t, app, "POST", "/pay?end=slow", "Idempotency-Key: k"); a.status != 201 {
				t.Errorf("the first: %d", a.status)
			}
		})
		for range 4 {
			time.Sleep(65 * time.Second) // longer than the lease
			for _, app := range []*web.App{app, other} {
				a := ask(t, app, "POST", "/pay?end=slow", "Idempotency-Key: k")
				if a.status != 409 {
					t.Fatalf("a retry: %d, want 409", a.status)
				}
				a.want(t, "Retry-After", "1")
			}
		}
		group.Wait()
		if a := ask(t, other, "POST", "/pay?end=slow", "Idempotency-Key: k"); a.status != 201 || b.payments.Load() != 1 {
			t.Errorf("after it: %d after %d payments", a.status, b.payments.Load())
		}
	})
}

// Responses that are not kept do not make the handler run again, and failed requests do.
func TestIdempotencyOutcomes(t *testing.T) {
	for _, tc := range []struct {
		end           string
		first, second int
		paid          int64
	}{
		{"", 201, 201, 1},
		{"stream", 200, 409, 1},
		{"large", 200, 409, 1},
		{"error", 500, 500, 2},
		{"500", 500, 500, 2},
		{"conflict", 409, 409, 2},
		{"panic", 500, 500, 2},
	} {
		t.Run(tc.end, func(t *testing.T) {
			b, app := newBank(middleware.Idempotency{MaxBody: 1000})
			for i, want := range []int{tc.first, tc.second} {
				if a := ask(t, app, "POST", "/pay?end="+tc.end, "Idempotency-Key: k"); a.status != want {
					t.Errorf("request %d: %d, want %d", i, a.status, want)
				}
			}
			if b.payments.Load() != tc.paid {
				t.Errorf("%d payments, want %d", b.payments.Load(), tc.paid)
			}
		})
	}
}

// Of many requests at the same time, one runs.
func TestIdempotencyRaces(t *testing.T) {
	o := middleware.Idempotency{Store: new(middleware.MemoryStore), Name: "pay"}
	b, app := newBank(o)
	_, other := newBank(o)
	const keys, each = 100, 8
	for k := range keys {
		var group sync.WaitGroup
		var bodies sync.Map
		for i := range each {
			group.Go(func() {
				a := ask(t, []*web.App{app, other}[i%2], "POST", "/pay", fmt.Sprint("Idempotency-Key: ", k))
				if a.status == 201 {
					bodies.Store(a.body, true)
				} else if a.status != 409 {
					t.Errorf("%d", a.status)
				}
			})
		}
		group.Wait()
		n := 0
		bodies.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Fatalf("%d different responses for one key", n)
		}
	}
	if n := b.payments.Load(); n > keys {
		t.Errorf("%d payments, want at most %d", n, keys)
	}
}

// brokenAdder is a store whose methods fail on demand.
type brokenAdder struct {
	*middleware.MemoryStore
	add, swap atomic.Bool
}

func (s *brokenAdder) Add(ctx context.Context, key string, value []byte, ttl time.Duration) ([]byte, bool, error) {
	if s.add.Load() {
		return nil, false, errBroken
	}
	return s.MemoryStore.Add(ctx, key, value, ttl)
}

func (s *brokenAdder) CompareAndSwap(ctx context.Context, key string, old, replacement []byte, ttl time.Duration) (bool, error) {
	if s.swap.Load() {
		return false, errBroken
	}
	return s.MemoryStore.CompareAndSwap(ctx, key, old, replacement, ttl)
}

// If the store fails, the handler does not run. If the store fails after the handler has run, the client gets the response, and the
// handler does not run again before the lease ends.
func TestIdempotencyStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &brokenAdder{MemoryStore: new(middleware.MemoryStore)}
		b, app := newBank(middleware.Idempotency{Store: store, Name: "pay"})
		pay := func() int { t.Helper(); return ask(t, app, "POST", "/pay", "Idempotency-Key: k").status }
		store.add.Store(true)
		if status := pay(); status != 503 || b.payments.Load() != 0 {
			t.Errorf("without a store: %d after %d payments", status, b.payments.Load())
		}
		store.add.Store(false)
		store.swap.Store(true)
		if status := pay(); status != 201 {
			t.Errorf("the store fails after the handler: %d", status)
		}
		store.swap.Store(false)
		if status := pay(); status != 409 || b.payments.Load() != 1 {
			t.Errorf("then: %d after %d payments", status, b.payments.Load())
		}
	})
}

// A streamed request body reaches the handler.
func TestIdempotencyStreamedBody(t *testing.T) {
	app := web.New(web.Config{Server: &gallop.Server{StreamRequestBody: true, Logger: newQuiet()}})
	app.Use(middleware.Idempotency{})
	app.Post("/", func(c *web.Ctx) error {
		body, err := io.ReadAll(c.RequestCtx().RequestBodyStream())
		if err != nil {
			return err
		}
		return c.SendString(strconv.Itoa(len(body)))
	})
	for _, tc := range []struct {
		size, status int
		body         string
	}{{100000, 200, "100000"}, {100000, 200, "100000"}, {100001, 422, "The Idempotency-Key was used for another request."}} {
		a := ask(t, app, "POST", "/", "Idempotency-Key: k", "Body: "+strings.Repeat("x", tc.size))
		if a.status != tc.status || a.body != tc.body {
			t.Errorf("%d bytes: %d %s", tc.size, a.status, a.body)
		}
	}
}

func TestIdempotencySettings(t *testing.T) {
	for want, o := range map[string]middleware.Idempotency{
		"needs a Name":       {Store: new(middleware.MemoryStore)},
		`not "a b"`:          {Store: new(middleware.MemoryStore), Name: "a b"},
		"needs a Store that": {Store: plainStore{new(middleware.MemoryStore)}, Name: "n"},
	} {
		t.Run(want, func(t *testing.T) { mustPanic(t, want, func() { o.Handler() }) })
	}
	b, app := newBank(middleware.Idempotency{Methods: []string{"PUT"}, Header: "X-Key", Scope: func(*web.Ctx) string { return "all" }})
	app.Put("/put", b.pay)
	for range 2 {
		ask(t, app, "POST", "/pay", "X-Key: k")
		ask(t, app, "PUT", "/put", "X-Key: k")
	}
	if b.payments.Load() != 3 {
		t.Errorf("%d payments, want 3", b.payments.Load())
	}
}

// The client sends the payment twice, because it has not received the response.
func ExampleIdempotency() {
	app := web.New(web.Config{})
	app.Use(middleware.Idempotency{})
	payments := 0
	app.Post("/pay", func(c *web.Ctx) error {
		payments++
		return c.Status(201).SendString("payment " + strconv.Itoa(payments))
	})
	for range 2 {
		request := httptest.NewRequest("POST", "/pay", strings.NewReader("amount=5"))
		request.Header.Set("Idempotency-Key", `"8e03978e-40d5-43e8-bc93-6894a57f9324"`)
		response, err := app.Test(request)
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, _ := io.ReadAll(response.Body)
		fmt.Printf("%d %s, replayed: %q\n", response.StatusCode, body, response.Header.Get("Idempotency-Replayed"))
	}
	// Output:
	// 201 payment 1, replayed: ""
	// 201 payment 1, replayed: "true"
}

// If the Store has no room for the response, a retry must not run the handler again.
func TestIdempotencyResponseTooLargeForStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, app := newBank(middleware.Idempotency{Store: &middleware.MemoryStore{MaxBytes: 1500}, Name: "pay"})
		if a := ask(t, app, "POST", "/pay?end=large", "Idempotency-Key: k"); a.status != 200 {
			t.Errorf("the first request: %d", a.status)
		}
		for range 3 {
			time.Sleep(65 * time.Second) // longer than the lease
			if a := ask(t, app, "POST", "/pay?end=large", "Idempotency-Key: k"); a.status != 409 || b.payments.Load() != 1 {
				t.Errorf("a retry: %d after %d payments", a.status, b.payments.Load())
			}
		}
	})
}

// Replays at the same time use pooled memory. Each gets the response for its own key, regardless of the sizes of the others.
func TestIdempotencyReplaysConcurrently(t *testing.T) {
	app := newApp(middleware.Idempotency{})
	app.Post("/", func(c *web.Ctx) error {
		n, _ := strconv.Atoi(c.ReqHeader("N"))
		return c.SetHeader("X-N", strconv.Itoa(n)).SendString(strings.Repeat(string(rune('a'+n)), 1<<n))
	})
	var group sync.WaitGroup
	for n := range 18 { // up to 128 KiB, which is too much for the pool
		group.Go(func() {
			for range 20 {
				a := ask(t, app, "POST", "/", fmt.Sprint("Idempotency-Key: ", n), fmt.Sprint("N: ", n), "Body: "+strings.Repeat("b", 8*n))
				if a.status != 200 || a.body != strings.Repeat(string(rune('a'+n)), 1<<n) || a.header.Get("X-N") != strconv.Itoa(n) {
					t.Errorf("%d: %d with %d bytes", n, a.status, len(a.body))
				}
			}
		})
	}
	group.Wait()
}

// A retry with another body is found out, whether the body is hashed first or not.
func TestIdempotencyComparesBodies(t *testing.T) {
	app := newApp(middleware.Idempotency{})
	app.Post("/", says("paid"))
	for _, size := range []int{0, 1, 63, 64, 65, 66, 10000} {
		key := fmt.Sprint("Idempotency-Key: ", size)
		body := strings.Repeat("x", size)
		for _, tc := range []struct {
			body   string
			status int
		}{{body, 200}, {body, 200}, {body + "x", 422}, {body + "y", 422}, {"y" + body, 422}} {
			if a := ask(t, app, "POST", "/", key, "Body: "+tc.body); a.status != tc.status {
				t.Errorf("%d bytes, then %d: %d, want %d", size, len(tc.body), a.status, tc.status)
			}
		}
	}
}

// hanging is a Store whose CompareAndSwap waits for its context, if the new value is one for which hangs returns true.
type hanging struct {
	*middleware.MemoryStore
	hangs func(extends bool) bool
}

func (h hanging) CompareAndSwap(ctx context.Context, key string, old, replacement []byte, ttl time.Duration) (bool, error) {
	if h.hangs(bytes.Equal(old, replacement)) {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return h.MemoryStore.CompareAndSwap(ctx, key, old, replacement, ttl)
}

// A Store that hangs does not keep the response for long.
func TestIdempotencyWithAHangingStore(t *testing.T) {
	for name, test := range map[string]struct {
		hangs func(extends bool) bool
		took  time.Duration
		again int
	}{
		"extending": {func(extends bool) bool { return extends }, 30 * time.Second, 200},
		"always":    {func(bool) bool { return true }, 35 * time.Second, 409},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{Logger: newQuiet()}})
				app.Use(middleware.Idempotency{Store: hanging{new(middleware.MemoryStore), test.hangs}, Name: "n", Lease: time.Minute})
				app.Post("/", func(c *web.Ctx) error {
					time.Sleep(30 * time.Second)
					return c.SendString("done")
				})
				start := time.Now()
				a := ask(t, app, "POST", "/", "Idempotency-Key: k")
				if took := time.Since(start); a.status != 200 || took != test.took {
					t.Errorf("%d after %v, want 200 after %v", a.status, took, test.took)
				}
				if a := ask(t, app, "POST", "/", "Idempotency-Key: k"); a.status != test.again {
					t.Errorf("the retry: %d, want %d", a.status, test.again)
				}
				app.Close()
			})
		})
	}
}
