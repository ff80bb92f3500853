package middleware

import (
	"context"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Health answers those who ask whether the application lives, and whether it should get requests:
//
//	health := &middleware.Health{Checks: map[string]func(context.Context) error{"database": db.PingContext}}
//	app.Get("/livez", health.Live)
//	app.Get("/readyz", health.Ready)
//	...
//	health.Shutdown(ctx, app)
//
// It must not be copied or changed once it is in use. The zero value has no checks: it is ready until it is shut down.
type Health struct {
	// Checks say by their error that something is missing without which requests cannot be served. They
	// run at the same time, for each request to Ready. Their context has none of its values, since they may
	// outlive it.
	Checks map[string]func(ctx context.Context) error

	// Timeout is the time for the checks together; 2 seconds by default. Those that do not look at their
	// context are not waited for, but run on.
	Timeout time.Duration

	draining atomic.Bool
}

// Live answers 200: whatever is wrong, it would not be mended by starting the process again. It is a web.Handler.
func (h *Health) Live(c *web.Ctx) error {
	c.SetHeader(gallop.HeaderCacheControl, "no-store")
	return c.SendString("ok")
}

// Ready answers 200 if all checks pass, and otherwise, or behind Drain, 503 with the names of those that
// do not, whose errors go to Ctx.Log. It is a web.Handler.
func (h *Health) Ready(c *web.Ctx) error {
	c.SetHeader(gallop.HeaderCacheControl, "no-store")
	if h.draining.Load() {
		return c.Status(gallop.StatusServiceUnavailable).SendString("draining")
	}
	failed := h.failed()
	if len(failed) == 0 {
		return c.SendString("ok")
	}
	text := "not ready:"
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		text += " " + name
		c.Log().Error("not ready", slog.String("check", name), slog.Any("error", failed[name]))
	}
	return c.Status(gallop.StatusServiceUnavailable).SendString(text)
}

// failed runs the checks and returns the errors of those that fail.
func (h *Health) failed() map[string]error {
	if len(h.Checks) == 0 {
		return nil
	}
	timeout := h.Timeout
	if timeout <= 0 {
		timeout = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	type result struct {
		name string
		err  error
	}
	results := make(chan result, len(h.Checks)) // late ones find room
	failed := map[string]error{}
	for name, check := range h.Checks {
		failed[name] = context.DeadlineExceeded // until it has passed
		go func() { results <- result{name, guarded(ctx, check)} }()
	}
	for range h.Checks {
		select {
		case r := <-results:
			if failed[r.name] = r.err; r.err == nil {
				delete(failed, r.name)
			}
		case <-ctx.Done():
			return failed
		}
	}
	return failed
}

// guarded runs a check that may panic: nobody else would notice on its goroutine.
func guarded(ctx context.Context, check func(context.Context) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return check(ctx)
}

// Drain has Ready answer 503 from now on, so that balancers send their requests elsewhere.
func (h *Health) Drain() { h.draining.Store(true) }

// Shutdown drains, and shuts the application down. The LameDuck time of its server should be as long as
// balancers need to notice.
func (h *Health) Shutdown(ctx context.Context, app *web.App) error {
	h.Drain()
	return app.Shutdown(ctx)
}
