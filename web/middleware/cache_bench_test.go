package middleware_test

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// BenchmarkCache measures hits and misses beside a handler that only sends a short text.
func BenchmarkCache(b *testing.B) {
	page := func(control string, size int, vary ...string) web.Handler {
		text := strings.Repeat("x", size)
		return func(c *web.Ctx) error {
			c.SetHeader("Cache-Control", control).Vary(vary...)
			return c.SendString(text)
		}
	}
	b.Run("hit", func(b *testing.B) { each(b, "GET", middleware.Cache{}, page("max-age=3600", 1000)) })
	b.Run("hit of a variant", func(b *testing.B) {
		each(b, "GET", middleware.Cache{}, page("max-age=3600", 1000, "Accept-Encoding"), "Accept-Encoding", "gzip, br")
	})
	b.Run("hit of 64 KiB", func(b *testing.B) { each(b, "GET", middleware.Cache{}, page("max-age=3600", 64<<10)) })
	b.Run("not modified", func(b *testing.B) {
		app := newApp(middleware.Cache{})
		app.Get("/", func(c *web.Ctx) error { return page("max-age=3600", 1000)(c.ETag("a")) })
		benchStatus(b, app, 304, "If-None-Match", `"a"`)
	})
	b.Run("private", func(b *testing.B) { each(b, "GET", middleware.Cache{}, page("private", 1000)) })
	b.Run("miss", func(b *testing.B) { each(b, "GET", middleware.Cache{}, page("max-age=0, stale-if-error=60", 1000)) })
	b.Run("another method", func(b *testing.B) { each(b, "OPTIONS", middleware.Cache{}, page("max-age=3600", 1000)) })
}

// benchStatus measures requests for "/" whose response has a status.
func benchStatus(b *testing.B, app *web.App, status int, fields ...string) {
	b.Helper()
	handler := app.Handler()
	r := &gallop.RequestCtx{}
	r.Request.SetRequestURI("/")
	r.Request.Header.SetHost("example.com")
	for i := 0; i < len(fields); i += 2 {
		r.Request.Header.Set(fields[i], fields[i+1])
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Response.Reset()
		handler(r)
	}
	if r.Response.StatusCode() != status {
		b.Fatalf("%d %s", r.Response.StatusCode(), r.Response.Body())
	}
}

// A hit costs few allocations: the host, the key, and the copy of the value, and with Vary the same for the variant.
func TestCacheAllocations(t *testing.T) {
	for vary, most := range map[string]float64{"": 4, "Accept-Encoding": 7} {
		app := newApp(middleware.Cache{})
		app.Get("/", func(c *web.Ctx) error { c.SetHeader("Cache-Control", "max-age=3600").Vary(vary); return hello(c) })
		handler := app.Handler()
		r := &gallop.RequestCtx{}
		r.Request.SetRequestURI("/")
		r.Request.Header.SetHost("example.com")
		handler(r)
		if got := testing.AllocsPerRun(100, func() { r.Response.Reset(); handler(r) }); got > most {
			t.Errorf("%q: %v allocations, want at most %v", vary, got, most)
		}
	}
}
