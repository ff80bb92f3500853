package middleware

import (
	"context"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Health provides liveness and readiness endpoints for load balancers and orchestrators:
//
//	health := &middleware.Health{Checks: map[string]func(context.Context) error{"database": db.PingContext}}
//	app.Get("/livez", health.Live)
//	app.Get("/readyz", health.Ready)
//	...
//	health.Shutdown(ctx, app)
//
// Do not copy or change a Health once it is in use. The zero value has no checks, so Ready responds with 200 until Drain or
// Shutdown is called.
type Health struct {
	// Checks maps names to checks. A check returns an error if something that the application needs is unavailable. Ready runs all
	// checks concurrently. A check cannot read values of the request from its context, because the check can run
	// longer than the request.
	Checks map[string]func(ctx context.Context) error

	// Timeout is the time limit for all checks together. Zero or less means 2 seconds. A check that ignores its context can run
	// longer, but Ready responds without waiting for the check.
	Timeout time.Duration

	// CacheFor is how long Ready uses the results of the checks again. Zero means one second. With a negative value, results are not
	// used again. Requests that arrive while the checks run wait for the same results, so many probes do not load a database.
	CacheFor time.Duration

	draining atomic.Bool
	mu       sync.Mutex
	last     *healthRun
}

// healthRun is a run of all checks.
type healthRun struct {
	done   chan struct{} // closed when the other fields are set
	failed map[string]error
	at     time.Time
}

// isOver reports whether the run has ended and is older than a limit.
func (r *healthRun) isOver(limit time.Duration) bool {
	select {
	case <-r.done:
		return time.Since(r.at) >= limit
	default:
		return false
	}
}

// Live always responds with 200. Live runs no checks, because an orchestrator restarts the process if Live fails. A
// restart does not repair a broken database. Live is a [web.Handler].
func (h *Health) Live(c *web.Ctx) error {
	c.SetHeader(gallop.HeaderCacheControl, "no-store")
	return c.SendString("ok")
}

// Ready responds with 200 if all checks pass. If a check fails, Ready responds with 503 and the names of the failed
// checks, and logs their errors to Ctx.Log. After Drain has been called, Ready always responds with 503. Ready is a web.Handler.
func (h *Health) Ready(c *web.Ctx) error {
	c.SetHeader(gallop.HeaderCacheControl, "no-store")
	if h.draining.Load() {
		return c.Status(gallop.StatusServiceUnavailable).SendString("draining")
	}
	failed := h.results()
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

// results returns the errors of the checks that failed last. It runs the checks unless they run already or have just run.
func (h *Health) results() map[string]error {
	if len(h.Checks) == 0 {
		return nil
	}
	keep := h.CacheFor
	if keep == 0 {
		keep = time.Second
	}
	h.mu.Lock()
	run := h.last
	mine := run == nil || run.isOver(keep)
	if mine {
		run = &healthRun{done: make(chan struct{})}
		h.last = run
	}
	h.mu.Unlock()
	if mine {
		run.failed, run.at = h.failed(), time.Now()
		close(run.done)
	}
	<-run.done
	return run.failed
}

// failed runs the checks and returns the errors of those that fail.
func (h *Health) failed() map[string]error {
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
	results := make(chan result, len(h.Checks)) // so that late checks do not block
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

// guarded runs a check and turns a panic into an error. Without it, a panic on the check's goroutine would end the program.
func guarded(ctx context.Context, check func(context.Context) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return check(ctx)
}

// Drain makes Ready respond with 503 from now on, so that load balancers send requests to other servers.
func (h *Health) Drain() { h.draining.Store(true) }

// Shutdown calls Drain and then app.Shutdown. Set Server.LameDuck to the time that load balancers need to notice that
// Ready fails.
func (h *Health) Shutdown(ctx context.Context, app *web.App) error {
	h.Drain()
	return app.Shutdown(ctx)
}
