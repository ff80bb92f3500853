package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// lines sends each logged line to a channel, since a request is logged only after its response was sent.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(bytes.Clone(p))
	return len(p), nil
}

func TestLogger(t *testing.T) {
	log := make(lines, 8)
	app := newApp(middleware.Logger{Log: slog.New(slog.NewJSONHandler(log, nil))}.Handler())
	app.Get("/hello/:name", says("hello"))
	app.Get("/error", func(*web.Ctx) error { return errors.New("no disk") })
	app.Get("/gone", func(*web.Ctx) error { return web.NewError(410) })
	app.Get("/panic", func(*web.Ctx) error { panic("x") })
	app.Get("/abort", func(*web.Ctx) error { panic(gallop.ErrAbortHandler) })
	app.Get("/hijack", func(c *web.Ctx) error {
		c.Status(101)
		c.RequestCtx().Hijack(func(net.Conn) {})
		return nil
	})
	app.Get("/stream", func(c *web.Ctx) error {
		c.RequestCtx().SetBodyStream(strings.NewReader("abc"), -1)
		return nil
	})
	for _, tc := range []struct{ target, want string }{
		{"/hello/x?secret=1", `{"level":"INFO","msg":"request","method":"GET","path":"/hello/x","status":200,"route":"/hello/:name","bytes":5}`},
		{"/error", `{"level":"ERROR","msg":"request","method":"GET","path":"/error","status":500,"route":"/error","bytes":21,"error":"no disk"}`},
		{"/gone", `{"level":"INFO","msg":"request","method":"GET","path":"/gone","status":410,"route":"/gone","bytes":4,"error":"web: 410 Gone"}`},
		{"/panic", `{"level":"ERROR","msg":"request","method":"GET","path":"/panic","status":500,"route":"/panic","bytes":21,"error":"panic"}`},
		{"/abort", `{"level":"ERROR","msg":"request","method":"GET","path":"/abort","status":500,"route":"/abort","error":"panic"}`},
		{"/hijack", `{"level":"INFO","msg":"request","method":"GET","path":"/hijack","status":101,"route":"/hijack"}`},
		{"/stream", `{"level":"INFO","msg":"request","method":"GET","path":"/stream","status":200,"route":"/stream"}`},
		{"/none%0Ahere%1b", `{"level":"INFO","msg":"request","method":"GET","path":"/none\nhere\u001b","status":404,"bytes":9,"error":"web: 404 Not Found"}`},
	} {
		request, _ := http.NewRequestWithContext(t.Context(), "GET", "http://example.com"+tc.target, nil)
		if response, err := app.Test(request); err == nil {
			io.Copy(io.Discard, response.Body)
		}
		line := <-log
		if strings.Count(line, "\n") != 1 {
			t.Errorf("%s: more than a line: %q", tc.target, line)
		}
		var got, want map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if d, ok := got["duration"].(float64); !ok || d <= 0 {
			t.Errorf("%s: no duration: %s", tc.target, line)
		}
		if tc.target == "/abort" {
			delete(got, "bytes")
		}
		for _, varies := range []string{"time", "duration"} {
			delete(got, varies)
		}
		json.Unmarshal([]byte(tc.want), &want)
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s:\n%s, want\n%s", tc.target, a, b)
		}
	}
}

// The size of what was sent is not that of what HEAD would have got as GET, or of nothing where an error has a page.
func TestLoggerKnowsSizes(t *testing.T) {
	log := make(lines, 1)
	app := web.New(web.Config{ErrorHandler: func(c *web.Ctx, err error) {
		c.Status(404).SendStreamSize(strings.NewReader("a page"), map[bool]int64{true: 6, false: -1}[c.Query("sized") != ""])
	}})
	app.Use(middleware.Logger{Log: slog.New(slog.NewTextHandler(log, nil))}.Handler())
	app.Get("/hello", says("hello"))
	app.Get("/nothing", says(""))
	for request, want := range map[string]string{
		"GET /hello": " bytes=5", "HEAD /hello": "", "GET /nothing": " bytes=0", "GET /none": "", "GET /none?sized=1": "",
	} {
		method, target, _ := strings.Cut(request, " ")
		ask(t, app, method, target)
		if line := <-log; strings.Contains(line, "bytes=") != (want != "") || !strings.Contains(line, want) {
			t.Errorf("%s: %s, want one with %q", request, line, want)
		}
	}
}

// The text format, which is for people, escapes control characters too.
func TestLoggerEscapesText(t *testing.T) {
	log := make(lines, 1)
	app := newApp(middleware.Logger{Log: slog.New(slog.NewTextHandler(log, nil))}.Handler())
	ask(t, app, "GET", "/a%0Alevel=ERROR%1b[31m")
	if line := <-log; strings.Count(line, "\n") != 1 || strings.Contains(line, "\x1b") {
		t.Errorf("%q", line)
	}
}

type tenant struct{}

func TestLoggerSettings(t *testing.T) {
	log := make(lines, 8)
	handler := &contextual{slog.NewJSONHandler(log, nil)}
	app := newApp(
		middleware.Logger{
			Log:   slog.New(handler),
			Skip:  func(c *web.Ctx) bool { return c.RequestCtx().Response.StatusCode() == 204 },
			Attrs: func(c *web.Ctx) []slog.Attr { return []slog.Attr{slog.String("agent", c.ReqHeader("User-Agent"))} },
		}.Handler(),
		middleware.RequestID{New: func() string { return "id-1" }}.Handler(),
	)
	app.Get("/skipped", func(c *web.Ctx) error { return c.SendStatus(204) })
	app.Get("/", func(c *web.Ctx) error {
		c.SetContext(context.WithValue(c.Context(), tenant{}, "acme"))
		return nil
	})
	ask(t, app, "GET", "/skipped")
	ask(t, app, "GET", "/", "User-Agent: x")
	line := <-log
	for _, want := range []string{`"id":"id-1"`, `"agent":"x"`, `"tenant":"acme"`, `"path":"/"`} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
}

// The context that log handlers get has the values of the request and is never canceled.
func TestLoggerContext(t *testing.T) {
	number := web.NewKey[int]()
	records := 0
	app := newApp(middleware.Logger{Log: slog.New(withContext(func(ctx context.Context) {
		records++
		n, ok := number.Get(ctx)
		if _, limited := ctx.Deadline(); n != 7 || !ok || ctx.Err() != nil || ctx.Done() != nil || limited {
			t.Errorf("value %d, error %v", n, ctx.Err())
		}
	}))}.Handler())
	app.Get("/", func(c *web.Ctx) error { return number.Set(c, 7).SendString("") })
	app.Get("/set", func(c *web.Ctx) error {
		ctx, cancel := context.WithCancel(c.Context())
		cancel()
		return number.Set(c.SetContext(ctx), 7).SendString("")
	})
	for _, target := range []string{"/", "/set"} {
		request := &gallop.RequestCtx{}
		parent, cancel := context.WithCancel(t.Context())
		request.InitContext(parent)
		request.Request.SetRequestURI(target)
		app.Handler()(request)
		cancel()
		request.ResetUserValues() // closes the line
	}
	if records != 2 {
		t.Errorf("%d records", records)
	}
}

// withContext is a log handler that looks at the context of each record.
type withContext func(ctx context.Context)

func (withContext) Enabled(context.Context, slog.Level) bool { return true }
func (h withContext) Handle(ctx context.Context, _ slog.Record) error {
	h(ctx)
	return nil
}
func (h withContext) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h withContext) WithGroup(string) slog.Handler      { return h }

// Skip sees what the handlers know. It is not asked about requests without a response, so that no failure is skipped by accident.
func TestLoggerSkips(t *testing.T) {
	log := make(lines, 8)
	quiet := web.NewKey[bool]()
	app := newApp(middleware.Logger{Log: slog.New(slog.NewTextHandler(log, nil)), Skip: func(c *web.Ctx) bool {
		q, _ := quiet.Get(c)
		return q || c.Route() != nil && c.Route().Pattern() == "/probe/:name" || c.RequestCtx().Response.StatusCode() < 400
	}}.Handler())
	app.Get("/local", func(c *web.Ctx) error { quiet.Set(c, true); return c.SendStatus(500) })
	app.Get("/probe/:name", func(c *web.Ctx) error { return c.SendStatus(503) })
	app.Get("/fine", says("fine"))
	app.Get("/teapot", func(c *web.Ctx) error { return c.SendStatus(418) })
	app.Get("/error", func(*web.Ctx) error { return errors.New("no disk") })
	app.Get("/panic", func(*web.Ctx) error { panic("x") })
	for _, tc := range []struct{ target, want string }{
		{"/local", ""}, {"/probe/a", ""}, {"/fine", ""}, {"/teapot", "status=418"}, {"/error", "status=500"}, {"/panic", "status=500"}, {"/none", "status=404"},
	} {
		ask(t, app, "GET", tc.target)
		if tc.want == "" {
			continue // the next line would be of this request
		}
		if line := <-log; !strings.Contains(line, tc.want) || !strings.Contains(line, "path="+tc.target) {
			t.Errorf("%s: logged %s, want %s", tc.target, line, tc.want)
		}
	}
}

// contextual adds what is in the context of the request.
type contextual struct{ slog.Handler }

func (h *contextual) Handle(ctx context.Context, r slog.Record) error {
	name, _ := ctx.Value(tenant{}).(string)
	r.AddAttrs(slog.String("tenant", name))
	return h.Handler.Handle(ctx, r)
}

// Behind a proxy that is trusted it is the client that is logged, and what others say counts for nothing.
func TestLoggerNamesTheClient(t *testing.T) {
	log := make(lines, 8)
	for trusted, want := range map[string]string{"127.0.0.0/8": `"client":"192.0.2.7"`, "10.0.0.0/8": `"client":"127.0.0.1"`} {
		app := web.New(web.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix(trusted)}})
		app.Use(middleware.Logger{Log: slog.New(slog.NewJSONHandler(log, nil))}.Handler())
		server := httptest.NewServer(app)
		request := get(t.Context(), server.URL)
		request.Header.Set("X-Forwarded-For", "192.0.2.7")
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if line := <-log; !strings.Contains(line, want) {
			t.Errorf("trusting %s: no %s in %s", trusted, want, line)
		}
		server.Close()
	}
}

// If the client has disconnected, a failed request is no error of the program.
func TestLoggerAfterDisconnect(t *testing.T) {
	log, begun := make(lines, 1), make(chan bool)
	app := web.New(web.Config{NoListenLog: true, Server: &gallop.Server{}})
	app.Use(middleware.Logger{Log: slog.New(slog.NewTextHandler(log, nil))})
	app.Get("/", func(c *web.Ctx) error {
		close(begun)
		<-c.Done()
		return fmt.Errorf("query: %w", c.Err())
	})
	app.Get("/later", func(c *web.Ctx) error { return c.Status(500).SendString("no") })
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go app.Serve(ln)
	defer app.Close()
	nc, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(nc, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-begun
	nc.Close()
	if line := <-log; !strings.Contains(line, "level=INFO") || !strings.Contains(line, `status=500`) || !strings.Contains(line, `error="query: context canceled"`) {
		t.Error(line)
	}
	nc, err = net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	io.WriteString(nc, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
	if line := <-log; !strings.Contains(line, "level=ERROR") {
		t.Error("the next request:", line)
	}
}

// Several Loggers log the same request, each with its own settings. For example, an App logs to a file, and one of its groups also logs to a
// collector.
func TestSeveralLoggers(t *testing.T) {
	outer, inner := make(lines, 8), make(lines, 8)
	app := newApp(middleware.Logger{Log: slog.New(slog.NewTextHandler(outer, nil))})
	api := app.Group("/api", middleware.Logger{Log: slog.New(slog.NewTextHandler(inner, nil))})
	api.Get("/a", says("hello"))
	api.Get("/error", func(*web.Ctx) error { return errors.New("no disk") })
	api.Get("/panic", func(*web.Ctx) error { panic("x") })
	for _, tc := range []struct{ target, outer, inner string }{
		{"/api/a", "path=/api/a status=200", "path=/api/a status=200"},
		{"/api/error", "path=/api/error status=500", `error="no disk"`},
		{"/api/panic", "path=/api/panic status=500", "path=/api/panic status=500"},
	} {
		ask(t, app, "GET", tc.target)
		for _, of := range []struct {
			name, want string
			log        lines
		}{{"outer", tc.outer, outer}, {"inner", tc.inner, inner}} {
			select {
			case line := <-of.log:
				if !strings.Contains(line, of.want) {
					t.Errorf("%s: %s, want one with %s", of.name, line, of.want)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s: no line for %s", of.name, tc.target)
			}
		}
	}
}
