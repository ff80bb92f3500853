package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func healthApp(h *middleware.Health) *web.App {
	app := newApp()
	app.Get("/livez", h.Live)
	app.Get("/readyz", h.Ready)
	return app
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := func(context.Context) error { return nil }
		down := func(context.Context) error { return errors.New("password is secret") }
		late := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		deaf := func(context.Context) error { time.Sleep(time.Minute); return nil }
		type checks = map[string]func(context.Context) error
		for _, tc := range []struct {
			name   string
			health *middleware.Health
			status int
			body   string
			after  time.Duration
		}{
			{"no checks", &middleware.Health{}, 200, "ok", 0},
			{"all pass", &middleware.Health{Checks: checks{"a": up, "b": up}}, 200, "ok", 0},
			{"one fails", &middleware.Health{Checks: checks{"a": up, "b": down}}, 503, "not ready: b", 0},
			{"two fail", &middleware.Health{Checks: checks{"b": down, "a": down}}, 503, "not ready: a b", 0},
			{"one is late", &middleware.Health{Checks: checks{"a": up, "b": late}}, 503, "not ready: b", 2 * time.Second},
			{"one is deaf", &middleware.Health{Checks: checks{"a": up, "b": deaf}, Timeout: time.Second}, 503, "not ready: b", time.Second},
			{"one panics", &middleware.Health{Checks: checks{"a": func(context.Context) error { panic("x") }}}, 503, "not ready: a", 0},
		} {
			app := healthApp(tc.health)
			start := time.Now()
			a := ask(t, app, "GET", "/readyz")
			if a.status != tc.status || a.body != tc.body || time.Since(start) != tc.after {
				t.Errorf("%s: %d %q after %v", tc.name, a.status, a.body, time.Since(start))
			}
			a.want(t, "Cache-Control", "no-store")
			if a := ask(t, app, "GET", "/livez"); a.status != 200 || a.body != "ok" {
				t.Errorf("%s: alive: %d %q", tc.name, a.status, a.body)
			}
		}
		time.Sleep(time.Hour) // for the deaf one
	})
}

// A check that is late does not see the requests that come behind its own.
func TestHealthChecksOutliveTheirRequest(t *testing.T) {
	type key struct{}
	late, seen := make(chan struct{}), make(chan any)
	app := newApp(web.Handler(func(c *web.Ctx) error { c.SetLocal(key{}, c.Path()); return c.Next() }))
	h := middleware.Health{Timeout: time.Millisecond, Checks: map[string]func(context.Context) error{"deaf": func(ctx context.Context) error {
		<-late
		seen <- ctx.Value(key{})
		return nil
	}}}
	app.Get("/readyz", h.Ready)
	app.Get("/", func(c *web.Ctx) error { close(late); return c.SendString(fmt.Sprint(<-seen)) })
	client, base := serve(t, app)
	for _, target := range []string{"/readyz", "/"} {
		response, err := client.Do(get(t.Context(), base+target))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if target == "/" && string(body) != "<nil>" {
			t.Errorf("it sees %s", body)
		}
	}
}

// While the server is in its lame-duck time requests are served, but balancers are told to go.
func TestHealthDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h middleware.Health
		ln := memnet.NewListener()
		server := &gallop.Server{LameDuck: 200 * time.Millisecond, Logger: newQuiet()}
		app := web.New(web.Config{Server: server})
		app.Get("/livez", h.Live)
		app.Get("/readyz", h.Ready)
		done := make(chan error, 2)
		go func() { done <- server.Serve(ln) }()
		synctest.Wait()
		if a := ask(t, app, "GET", "/readyz"); a.status != 200 {
			t.Errorf("ready: %d", a.status)
		}
		go func() { done <- h.Shutdown(t.Context(), app) }()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("there is no lame-duck time")
		}
		if a := ask(t, app, "GET", "/readyz"); a.status != 503 || a.body != "draining" {
			t.Errorf("ready: %d %q", a.status, a.body)
		}
		if a := ask(t, app, "GET", "/livez"); a.status != 200 {
			t.Errorf("alive: %d", a.status)
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// Many probes share one run of the checks, and a run serves the probes of the next second.
func TestHealthCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		h := &middleware.Health{Checks: map[string]func(context.Context) error{"slow": func(context.Context) error {
			time.Sleep(100 * time.Millisecond)
			if runs.Add(1) == 2 {
				return errors.New("down")
			}
			return nil
		}}}
		app := healthApp(h)
		probe := func(want int) {
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() {
					if a := ask(t, app, "GET", "/readyz"); a.status != want {
						t.Errorf("run %d: %d, want %d", runs.Load(), a.status, want)
					}
				})
			}
			group.Wait()
		}
		for i, want := range []int{200, 503, 200} {
			probe(want)
			time.Sleep(999 * time.Millisecond)
			probe(want)
			if n := runs.Load(); n != int64(i+1) {
				t.Errorf("%d runs, want %d", n, i+1)
			}
			time.Sleep(time.Millisecond)
		}
		h.Drain()
		probe(503)
	})
}
