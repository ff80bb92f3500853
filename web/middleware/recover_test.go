package middleware_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func TestRecover(t *testing.T) {
	failure := errors.New("disk full")
	for name, tc := range map[string]struct {
		value any
		check func(err error) bool
	}{
		"text":     {"no such index", func(err error) bool { return strings.Contains(err.Error(), "no such index") }},
		"an error": {failure, func(err error) bool { return errors.Is(err, failure) }},
		"nil":      {nil, func(err error) bool { return err != nil }}, // panic(nil) is a *runtime.PanicNilError
	} {
		t.Run(name, func(t *testing.T) {
			var told *middleware.PanicError
			var handled error
			app := web.New(web.Config{ErrorHandler: func(c *web.Ctx, err error) {
				handled = err
				web.DefaultErrorHandler(c, err)
			}, Server: &gallop.Server{Logger: newQuiet()}})
			app.Use(middleware.Recover{OnPanic: func(_ *web.Ctx, err *middleware.PanicError) { told = err }}.Handler())
			app.Get("/", func(c *web.Ctx) error {
				c.SendString("half of it")
				panic(tc.value)
			})
			a := ask(t, app, "GET", "/")
			if a.status != 500 || a.body != "Internal Server Error" {
				t.Errorf("%d %q", a.status, a.body)
			}
			if told == nil || !strings.Contains(string(told.Stack), "TestRecover") || !tc.check(handled) {
				t.Errorf("OnPanic got %v, the error handler %v", told, handled)
			}
			var status *web.Error
			if !errors.As(handled, &status) || status.Status != 500 {
				t.Errorf("%v is no web.Error of status 500", handled)
			}
		})
	}
}

// Without OnPanic the panic is logged, with the stack.
func TestRecoverLogs(t *testing.T) {
	log := newQuiet()
	app := web.New(web.Config{Server: &gallop.Server{Logger: log}})
	app.Use(middleware.Recover{}.Handler())
	app.Get("/", func(*web.Ctx) error { panic("x") })
	ask(t, app, "GET", "/")
	if line := <-log.lines; !strings.Contains(line, `error="gallop: panic: x"`) || !strings.Contains(line, "recover_test.go") {
		t.Errorf("logged %q", line)
	}
}

// Recover lets a panic pass if it asks for an abort, if the response has begun or if the handler has hijacked the connection.
// The server then handles the panic.
func TestRecoverLetsPass(t *testing.T) {
	for name, h := range map[string]web.Handler{
		"abort":          func(*web.Ctx) error { panic(gallop.ErrAbortHandler) },
		"net/http abort": func(*web.Ctx) error { panic(http.ErrAbortHandler) },
		"streaming": func(c *web.Ctx) error {
			s, err := c.RequestCtx().StreamResponse()
			if err != nil {
				return err
			}
			s.Write([]byte("half"))
			s.Flush()
			panic("x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := newApp(middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) { t.Error("recovered") }}.Handler())
			app.Get("/", h)
			request, _ := http.NewRequestWithContext(t.Context(), "GET", "/", nil)
			response, err := app.Test(request)
			if err == nil && response.StatusCode == 200 {
				_, err = io.ReadAll(response.Body)
			}
			if err == nil && response.StatusCode == 200 {
				t.Error("the answer looks whole")
			}
		})
	}
	app := newApp(middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) { t.Error("recovered") }}.Handler())
	app.Get("/", func(c *web.Ctx) error {
		c.RequestCtx().Hijack(func(net.Conn) { t.Error("the connection was given away") })
		panic("x")
	})
	if a := ask(t, app, "GET", "/"); a.status != 500 {
		t.Errorf("a panic behind Hijack: %d", a.status)
	}
}
