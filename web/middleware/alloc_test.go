//go:build !race

package middleware_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// Middleware allocates as much for a request as written here. In race builds, pools drop values at random.
func TestAllocations(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    web.Middleware
		want float64
	}{
		{"Limiter", middleware.Limiter{Rates: []middleware.Rate{{Limit: 1000, Window: time.Second, Burst: 1 << 30}}}, 0},
		{"Limiter with FixedWindow", middleware.Limiter{Algorithm: middleware.FixedWindow, Rates: []middleware.Rate{{Limit: 1 << 30, Window: time.Hour}}}, 0},
		{"Idempotency", middleware.Idempotency{}, 0},                                           // a replay
		{"Logger", middleware.Logger{Log: slog.New(withContext(func(context.Context) {}))}, 1}, // the path
	} {
		app := newApp(tc.m)
		app.Post("/payments", func(c *web.Ctx) error { return nil })
		handler := app.Handler()
		request := &gallop.RequestCtx{}
		request.Request.Header.SetMethod("POST")
		request.Request.SetRequestURI("/payments")
		request.Request.Header.SetHost("api.example.com")
		request.Request.Header.Set("Authorization", "Bearer f81d4fae7dec11d0a76500a0c91e6bf6")
		request.Request.Header.Set("Idempotency-Key", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
		n := testing.AllocsPerRun(1000, func() {
			request.Response.Reset()
			handler(request)
			request.ResetUserValues()
		})
		if n > tc.want {
			t.Errorf("%s: %v allocations, want %v", tc.name, n, tc.want)
		}
	}
}
