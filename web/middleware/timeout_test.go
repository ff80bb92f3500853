package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func TestTimeout(t *testing.T) {
	refused := errors.New("refused")
	for _, tc := range []struct {
		name    string
		timeout middleware.Timeout
		handler web.Handler
		status  int
		after   time.Duration
	}{
		{"gives up", middleware.Timeout{After: time.Second}, func(c *web.Ctx) error { <-c.Done(); return c.Err() }, 503, time.Second},
		{"of a gateway", middleware.Timeout{After: time.Second, Status: 504}, func(c *web.Ctx) error { <-c.Done(); return fmt.Errorf("upstream: %w", c.Err()) }, 504, time.Second},
		{"as the network says it", middleware.Timeout{After: time.Second}, func(c *web.Ctx) error { <-c.Done(); return os.ErrDeadlineExceeded }, 503, time.Second},
		{"by default", middleware.Timeout{}, func(c *web.Ctx) error { <-c.Context().Done(); return c.Context().Err() }, 503, 30 * time.Second},
		{"in time", middleware.Timeout{After: time.Second}, func(c *web.Ctx) error { time.Sleep(time.Millisecond); return c.SendString("done") }, 200, time.Millisecond},
		{"late, and does not care", middleware.Timeout{After: time.Second}, func(c *web.Ctx) error { time.Sleep(time.Minute); return c.SendString("done") }, 200, time.Minute},
		{"another error in time", middleware.Timeout{After: time.Second}, func(*web.Ctx) error { return refused }, 500, 0},
		{"a shorter timeout of its own", middleware.Timeout{After: time.Second}, func(*web.Ctx) error { return context.DeadlineExceeded }, 500, 0},
		{"another error, late", middleware.Timeout{After: time.Second}, func(*web.Ctx) error { time.Sleep(time.Minute); return refused }, 500, time.Minute},
		{"a panic", middleware.Timeout{After: time.Second}, func(*web.Ctx) error { panic("x") }, 500, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var handled error
				var left error // of the context that the error handler has
				app := web.New(web.Config{Server: &gallop.Server{Logger: newQuiet()}, ErrorHandler: func(c *web.Ctx, err error) {
					handled, left = err, c.Err()
					web.DefaultErrorHandler(c, err)
				}})
				app.Use(middleware.Recover{}.Handler(), tc.timeout.Handler())
				app.Get("/", tc.handler)
				start := time.Now()
				a := ask(t, app, "GET", "/")
				if a.status != tc.status || time.Since(start) != tc.after {
					t.Errorf("%d after %v, want %d after %v", a.status, time.Since(start), tc.status, tc.after)
				}
				var timeout *middleware.TimeoutError
				if errors.As(handled, &timeout) != (tc.status == 503 || tc.status == 504) {
					t.Errorf("the error is %v", handled)
				} else if timeout != nil && (timeout.After != tc.after || !timeout.Timeout() || !errors.Is(handled, context.DeadlineExceeded)) {
					t.Errorf("%#v", timeout)
				}
				if left != nil {
					t.Errorf("the error handler's context is at its end: %v", left)
				}
			}) // which fails if a goroutine is left
		})
	}
}

// A client that goes away is no timeout.
func TestTimeoutOfAClientThatWentAway(t *testing.T) {
	ended := make(chan error, 1)
	begun := make(chan struct{})
	app := newApp(middleware.Timeout{After: time.Hour}.Handler())
	app.Get("/", func(c *web.Ctx) error {
		close(begun)
		<-c.Done()
		ended <- c.Err()
		return c.Err()
	})
	client, base := serve(t, app)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	request := get(ctx, base)
	if _, err := client.Do(request); err == nil {
		t.Error("there was an answer")
	}
	if err := <-ended; err != context.Canceled {
		t.Errorf("the context ended with %v", err)
	}
}

// Contexts of many requests at once are each ended, and nothing is left of them.
func TestTimeoutLeavesNothing(t *testing.T) {
	app := newApp(middleware.Timeout{After: time.Millisecond}.Handler())
	app.Get("/", func(c *web.Ctx) error { <-c.Done(); return c.Err() })
	client, base := serve(t, app)
	ask := func() {
		for range 20 {
			response, err := client.Do(get(t.Context(), base))
			if err != nil || response.StatusCode != 503 {
				t.Errorf("%v, %v", response, err)
				return
			}
			response.Body.Close()
		}
	}
	done := make(chan struct{})
	for range 8 {
		go func() { ask(); done <- struct{}{} }()
	}
	for range 8 {
		<-done
	}
	for range 2000 { // contexts learn of the end on goroutines of their own
		if !strings.Contains(stacks(), "context.(*cancelCtx).propagateCancel") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("goroutines of contexts are left")
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
