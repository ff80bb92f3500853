package middleware_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// panicText returns the text of the panic of f, "" without one.
func panicText(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

// A limit above that of the server would have no effect, so it panics where it is registered and names both.
func TestBodyLimitAboveTheServers(t *testing.T) {
	for name, test := range map[string]struct {
		server *gallop.Server
		size   int64
		want   string
	}{
		"the default": {nil, 5 << 20, `web: Use for "/": middleware 0 (middleware.BodyLimit): a Size of 5242880 bytes is over the 4194304 bytes of the server's MaxRequestBodySize: raise that to Size, or lower Size`},
		"a small one": {&gallop.Server{MaxRequestBodySize: 1000}, 0, "a Size of 1048576 bytes is over the 1000 bytes of the server's MaxRequestBodySize"},
		"the same":    {&gallop.Server{MaxRequestBodySize: 1000}, 1000, ""},
		"none":        {&gallop.Server{MaxRequestBodySize: 1000}, -1, ""},
		"streams":     {&gallop.Server{MaxRequestBodySize: 1000, StreamRequestBody: true}, 5 << 20, ""},
		"by request":  {&gallop.Server{HeaderReceived: func(*gallop.RequestHeader) (c gallop.RequestConfig) { return c }}, 5 << 20, ""},
	} {
		limit := middleware.BodyLimit{Size: test.size}
		app := web.New(web.Config{Server: test.server})
		for where, text := range map[string]string{
			"Use":   panicText(func() { app.Use(limit) }),
			"Group": strings.Replace(panicText(func() { app.Group("/g", limit) }), `Group for "/g"`, `Use for "/"`, 1),
			"Host":  strings.Replace(panicText(func() { app.Host("x.test", limit) }), `Host for "x.test/"`, `Use for "/"`, 1),
		} {
			if (text == "") != (test.want == "") || !strings.Contains(text, test.want) {
				t.Errorf("%s, %s: %q", name, where, text)
			}
		}
	}
}

// As the handler of a route it cannot panic there. Requests fail, and the log says why.
func TestBodyLimitOfARouteAboveTheServers(t *testing.T) {
	log := newQuiet()
	app := web.New(web.Config{Server: &gallop.Server{MaxRequestBodySize: 1000, Logger: log}})
	app.Post("/", middleware.BodyLimit{Size: 1001}.Handler(), says(""))
	if a := ask(t, app, "POST", "/", "Body: x"); a.status != 500 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if line := <-log.lines; !strings.Contains(line, "a Size of 1001 bytes is over the 1000 bytes of the server's MaxRequestBodySize") {
		t.Errorf("logged %q", line)
	}
}

// On a group CORS answers preflight requests for its routes, and for no others.
func TestCORSOnGroups(t *testing.T) {
	app := newApp()
	api := app.Group("/api", middleware.CORS{Origins: []string{"https://good.example"}})
	api.Put("/x", says("x"))
	app.Put("/y", says("y"))
	for target, want := range map[string]string{"/api/x": "https://good.example", "/y": "", "/api/none": ""} {
		a := ask(t, app, "OPTIONS", target, "Origin: https://good.example", "Access-Control-Request-Method: PUT")
		a.want(t, "Access-Control-Allow-Origin", want)
		if want != "" {
			a.want(t, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
		}
	}
	a := ask(t, app, "OPTIONS", "/api/x")
	a.want(t, "Allow", "OPTIONS, PUT")
}

// The text of an error is in the log once, whichever of these see it.
func TestErrorsAreLoggedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		use []web.Middleware
		how func(*web.Ctx) error
	}{
		"Logger":            {[]web.Middleware{middleware.Logger{}}, func(*web.Ctx) error { return errors.New("the disk is full") }},
		"two Loggers":       {[]web.Middleware{middleware.Logger{}, middleware.Logger{}}, func(*web.Ctx) error { return errors.New("the disk is full") }},
		"no Logger":         {nil, func(*web.Ctx) error { return errors.New("the disk is full") }},
		"Recover":           {[]web.Middleware{middleware.Recover{}}, func(*web.Ctx) error { panic("the disk is full") }},
		"Logger, Recover":   {[]web.Middleware{middleware.Logger{}, middleware.Recover{}}, func(*web.Ctx) error { panic("the disk is full") }},
		"Logger, no panics": {[]web.Middleware{middleware.Logger{}, middleware.Recover{}}, func(*web.Ctx) error { return errors.New("the disk is full") }},
		"OnPanic": {
			[]web.Middleware{middleware.Logger{}, middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) {}}},
			func(*web.Ctx) error { panic("the disk is full") },
		},
		"a Logger that is told less": {[]web.Middleware{middleware.Logger{}}, func(*web.Ctx) error { return &web.Error{Status: 404, Err: errors.New("the disk is full")} }},
	} {
		log := &records{}
		text := slog.New(slog.NewJSONHandler(log, nil))
		app := web.New(web.Config{Server: &gallop.Server{ErrorLog: text}, NoListenLog: true})
		for _, m := range test.use {
			if l, ok := m.(middleware.Logger); ok {
				l.Log = text
				m = l
			}
			app.Use(m)
		}
		app.Get("/", test.how)
		ask(t, app, "GET", "/")
		app.Close()
		if n := strings.Count(log.String(), "the disk is full"); n != 1 {
			t.Errorf("%s: %d times in\n%s", name, n, log)
		}
	}
}

// Use and NotFound take a Static that passes on what it does not have.
func TestStaticFallsThrough(t *testing.T) {
	files := middleware.Static{FS: fstest.MapFS{"a.txt": {Data: []byte("a file")}, "b.txt": {Data: []byte("a file")}}}
	for name, use := range map[string]func(app *web.App){
		"Use":      func(app *web.App) { app.Use(files) },
		"NotFound": func(app *web.App) { app.NotFound(files.Handler()) },
	} {
		app := newApp()
		use(app)
		app.Get("/a.txt", says("a route"))
		app.Get("/c.txt", says("a route"))
		app.Post("/b.txt", says("posted"))
		for _, test := range []struct{ method, target, want string }{
			{"GET", "/a.txt", map[string]string{"Use": "200 a file", "NotFound": "200 a route"}[name]},
			{"GET", "/b.txt", "200 a file"},
			{"GET", "/c.txt", "200 a route"},
			{"POST", "/b.txt", "200 posted"},
			{"GET", "/d.txt", "404 Not Found"},
			{"DELETE", "/b.txt", "405 Method Not Allowed"},
		} {
			a := ask(t, app, test.method, test.target)
			if got := fmt.Sprint(a.status, " ", a.body); got != test.want {
				t.Errorf("%s: %s %s: %s, want %s", name, test.method, test.target, got, test.want)
			}
		}
	}
}

// Errors of middleware have a message.
func TestErrorsOfMiddlewareHaveMessages(t *testing.T) {
	var told error
	app := web.New(web.Config{ErrorHandler: func(_ *web.Ctx, err error) { told = err }, Server: &gallop.Server{Logger: newQuiet()}})
	app.Use(middleware.Recover{}, middleware.BodyLimit{Size: 3}, middleware.Timeout{After: 1})
	app.Get("/panic", func(*web.Ctx) error { panic("no") })
	app.Get("/late", func(c *web.Ctx) error { <-c.Done(); return c.Err() })
	app.Post("/large", says(""))
	for target, want := range map[string]string{"GET /panic": "Internal Server Error", "GET /late": "Service Unavailable", "POST /large": "Request Entity Too Large"} {
		method, path, _ := strings.Cut(target, " ")
		if method == "POST" {
			ask(t, app, method, path, "Body: 1234")
		} else {
			ask(t, app, method, path)
		}
		var e *web.Error
		if !errors.As(told, &e) || e.Message != want {
			t.Errorf("%s: %v", target, told)
		}
	}
}

// Middleware of net/http also runs for requests that the server refuses, as far as they are requests.
func TestNetHTTPMiddlewareSeesRefusedRequests(t *testing.T) {
	t.Parallel()
	for name, test := range refusedRequests() {
		if test.reads {
			continue
		}
		passes := web.FromMiddleware(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
		})
		responds := web.FromMiddleware(func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Error(w, "this must not be sent", http.StatusPaymentRequired)
			})
		})
		id := middleware.RequestID{New: func() string { return "the-id" }}
		for how, use := range map[string][]web.Middleware{"passes": {passes, id}, "responds": {id, responds}, "both": {passes, id, responds}} {
			t.Run(name+" "+how, func(t *testing.T) {
				server := &gallop.Server{Logger: newQuiet()}
				if test.server != nil {
					test.server(server)
				}
				told := make(chan error, 9)
				app := web.New(web.Config{Server: server, NoListenLog: true, ErrorHandler: func(c *web.Ctx, err error) {
					told <- err
					web.DefaultErrorHandler(c, err)
				}})
				app.Use(use...)
				head, body := askRaw(t, app, test.request)
				want := gallop.StatusMessage(test.status)
				if name == "HEAD" {
					want = ""
				}
				if !strings.Contains(head, fmt.Sprint(" ", test.status, " ")) || !strings.Contains(strings.ToLower(head), "x-request-id: the-id") ||
					body != want || len(told) != 1 {
					t.Errorf("%s\n%s, told %d times", head, body, len(told))
				}
			})
		}
	}
}
