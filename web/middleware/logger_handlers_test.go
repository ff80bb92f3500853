package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// presets is a log handler that counts the calls of WithAttrs and the attributes of records.
type presets struct {
	slog.Handler
	calls *[]string
}

func (h presets) WithAttrs(attrs []slog.Attr) slog.Handler {
	*h.calls = append(*h.calls, fmt.Sprint(attrs))
	return presets{h.Handler.WithAttrs(attrs), h.calls}
}

func (h presets) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "method" || a.Key == "route" {
			*h.calls = append(*h.calls, "record has "+a.Key)
		}
		return true
	})
	return h.Handler.Handle(ctx, r)
}

// Method and route are formatted once for each route and method, but not for methods that clients make up.
func TestLoggerFormatsNamesOnce(t *testing.T) {
	var calls []string
	log := &records{}
	app := newApp(middleware.Logger{Log: slog.New(presets{slog.NewTextHandler(log, nil), &calls})})
	app.Get("/a/:id", says(""))
	app.Post("/a/:id", says(""))
	serve, request := app.Handler(), &gallop.RequestCtx{}
	for range 3 {
		for _, line := range []string{"GET /a/1", "POST /a/2", "GET /none", "BREW /a/1"} {
			method, target, _ := strings.Cut(line, " ")
			request.Request.Header.SetMethod(method)
			request.Request.SetRequestURI(target)
			request.Response.Reset()
			serve(request)
			request.ResetUserValues()
		}
	}
	want := "[[method=GET route=/a/:id] [method=POST route=/a/:id] [method=GET] record has method record has method record has method]"
	if fmt.Sprint(calls) != want {
		t.Errorf("%v, want %s", calls, want)
	}
	for _, want := range []string{"method=GET route=/a/:id path=/a/1 status=200 ", "method=POST route=/a/:id path=/a/2 ", "method=GET path=/none status=404 ", "method=BREW path=/a/1 status=405 "} {
		if n := strings.Count(log.String(), want); n != 3 {
			t.Errorf("%d lines have %q, want 3:\n%s", n, want, log)
		}
	}
}

// embedding has only its own Handle, so WithAttrs returns the handler inside.
type embedding struct{ slog.Handler }

func (h embedding) Handle(ctx context.Context, r slog.Record) error {
	r.AddAttrs(slog.String("trace", "t-1"))
	return h.Handler.Handle(ctx, r)
}

// lazy drops the attributes of WithAttrs.
type lazy struct{ slog.Handler }

func (h *lazy) WithAttrs([]slog.Attr) slog.Handler { return h }

// No attribute is lost if WithAttrs of the log handler does not work.
func TestLoggerWithoutWithAttrs(t *testing.T) {
	for name, wrap := range map[string]func(slog.Handler) slog.Handler{
		"embedding": func(h slog.Handler) slog.Handler { return embedding{h} },
		"lazy":      func(h slog.Handler) slog.Handler { return &lazy{embedding{h}} },
	} {
		log := &records{}
		app := newApp(middleware.Logger{Log: slog.New(wrap(slog.NewTextHandler(log, nil)))})
		app.Get("/a", says(""))
		for range 2 {
			ask(t, app, "GET", "/a")
		}
		app.Close()
		if n := strings.Count(log.String(), "method=GET route=/a path=/a status=200 "); n != 2 || strings.Count(log.String(), "trace=t-1") != 2 {
			t.Errorf("%s: %s", name, log)
		}
	}
}

// The groups and attributes of the slog.Logger apply to all attributes, and each slog.Default gets its own lines.
func TestLoggerOfGroupsAndDefaults(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	app := newApp(middleware.Logger{})
	app.Get("/a", says(""))
	serve := app.Handler()
	for i := range 3 {
		log := &records{}
		slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)).With("n", i).WithGroup("http"))
		request := &gallop.RequestCtx{}
		request.Request.SetRequestURI("/a")
		serve(request)
		request.ResetUserValues()
		if want := fmt.Sprintf("n=%d http.method=GET http.route=/a http.path=/a http.status=200 ", i); strings.Count(log.String(), want) != 1 {
			t.Errorf("%s, want one line with %q", log, want)
		}
	}
}

// The line of a panic has the ID, wherever RequestID is registered.
func TestLoggerNamesPanics(t *testing.T) {
	id := middleware.RequestID{New: func() string { return "id-1" }}
	for name, use := range map[string]func(l middleware.Logger) []web.Middleware{
		"behind": func(l middleware.Logger) []web.Middleware { return []web.Middleware{l, id} },
		"before": func(l middleware.Logger) []web.Middleware { return []web.Middleware{id, l} },
	} {
		log := make(lines, 1)
		app := newApp(use(middleware.Logger{Log: slog.New(slog.NewTextHandler(log, nil))})...)
		app.Get("/", func(c *web.Ctx) error { panic("x") })
		ask(t, app, "GET", "/")
		if line := <-log; !strings.Contains(line, "id=id-1") || !strings.Contains(line, "error=panic") {
			t.Errorf("%s: %s", name, line)
		}
	}
}

// A line does not have attributes of the one before, and several requests may be logged at once.
func TestLoggerLinesAreSeparate(t *testing.T) {
	log := &records{}
	app := newApp(middleware.Logger{Log: slog.New(slog.NewTextHandler(log, nil)), Attrs: func(c *web.Ctx) []slog.Attr {
		if c.Params("id") == "1" {
			return []slog.Attr{slog.String("more", "a"), slog.String("and", "b")}
		}
		return nil
	}})
	app.Get("/:id", func(c *web.Ctx) error {
		if c.Params("id") == "2" {
			return errors.New("no disk")
		}
		return c.SendString("")
	})
	serve := app.Handler()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			request := &gallop.RequestCtx{}
			for i := range 300 {
				request.Request.SetRequestURI(fmt.Sprint("/", i%3))
				request.Response.Reset()
				serve(request)
				request.ResetUserValues()
			}
		})
	}
	group.Wait()
	for _, line := range strings.Split(strings.TrimSpace(log.String()), "\n") {
		if strings.Contains(line, "path=/1") != strings.Contains(line, "more=a and=b") || strings.Contains(line, "path=/2") != strings.Contains(line, "no disk") {
			t.Fatal(line)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 1200 {
		t.Errorf("%d lines", n)
	}
}
