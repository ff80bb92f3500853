package web

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/nethttp"
)

type teapot struct{}

func (teapot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Kind", "pot")
	w.WriteHeader(418)
	fmt.Fprint(w, r.URL.Path, " ", r.PathValue("x"), " ", r.Pattern)
}

func TestEveryKindOfHandler(t *testing.T) {
	app := New(Config{})
	for path, handlers := range map[string][]Handler{
		"/web":    {func(c *Ctx) error { return c.SendString("web") }},
		"/list":   {func(c *Ctx) error { c.SetHeader("X-Kind", "list"); return c.Next() }, says("list")},
		"/pot/:x": {FromHTTP(teapot{})}, "/func": {httpFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "func") })},
		"/gallop": {FromGallop(func(ctx *gallop.RequestCtx) { ctx.WriteString("gallop") })},
	} {
		app.Get(path, handlers...)
	}
	for path, want := range map[string]string{
		"/web": "200 web ", "/list": "200 list list", "/pot/é": "418 /pot/é é GET /pot/:x pot", "/func": "200 func ", "/gallop": "200 gallop ",
	} {
		status, body, h := ask(t, app, "GET", path)
		if got := fmt.Sprint(status, " ", body, " ", h.Get("X-Kind")); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// Registering a nil handler panics, and the message names the call and the argument.
func TestNilHandlers(t *testing.T) {
	app := New(Config{})
	group := app.Host("example.com").Group("/g")
	mustPanic(t, "web: route GET /x: handler 1 is nil", func() { app.Get("/x", says(""), nil) })
	mustPanic(t, "web: route example.com/g/x: handler 0 is nil", func() { group.All("/x", nil) })
	mustPanic(t, `web: Use for "/": middleware 1 is nil`, func() { app.Use(says(""), nil) })
	mustPanic(t, `web: Use for "/": middleware 0 is nil`, func() { app.Use(Handler(nil)) })
	mustPanic(t, `web: UseFunc for "example.com/g": middleware 0 is nil`, func() { group.UseFunc(nil) })
	mustPanic(t, `web: Group for "/h": middleware 0 is nil`, func() { app.Group("/h", Handler(nil)) })
	mustPanic(t, `web: Host for "a.b/": middleware 0 is nil`, func() { app.Host("a.b", nil) })
	mustPanic(t, `web: Mount at "/x": the App is nil`, func() { app.Mount("/x", nil) })
	mustPanic(t, `web: MountHTTP at "/g/x": the handler is nil`, func() { group.MountHTTP("/x", nil) })
	mustPanic(t, "web: FromHTTP: the handler is nil", func() { FromHTTP(nil) })
	mustPanic(t, "web: FromGallop: the handler is nil", func() { FromGallop(nil) })
	mustPanic(t, "web: FromMiddleware: the middleware is nil", func() { FromMiddleware(nil) })
	mustPanic(t, "web: FromMiddleware: the middleware has returned a nil", func() { FromMiddleware(func(http.Handler) http.Handler { return nil }) })
	if n := len(app.Routes()); n != 0 {
		t.Errorf("%d routes were registered", n)
	}
}

func TestMountedHandlers(t *testing.T) {
	app := New(Config{})
	show := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Method, " ", r.URL.Path, " ", r.URL.RawQuery)
	}
	app.Group("/:tenant").MountHTTP("/files/", http.HandlerFunc(show))
	app.MountHTTP("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "root ", r.URL.Path) }))
	for _, test := range []struct{ method, target, want string }{
		{"GET", "/a/files", "GET / "}, {"GET", "/a/files/", "GET / "}, {"PUT", "/a/files/b/c?q=1", "PUT /b/c q=1"},
		{"GET", "/a/files/../../x", "root /x"}, {"GET", "/a/./files/../files/b%2F..", "GET /b%2F.. "}, {"GET", "/", "root /"}, {"GET", "/z", "root /z"},
	} {
		if _, body, _ := ask(t, app, test.method, test.target); body != test.want {
			t.Errorf("%s %s: %q, want %q", test.method, test.target, body, test.want)
		}
	}
}

// tagging is middleware that sets fields and keeps a record.
func tagging(name string, record chan<- string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("X-Seen", r.Header.Get("X-Seen")+name)
			r.Header.Del("X-Secret")
			w.Header().Set("X-Before", name)
			rec := &statusWriter{ResponseWriter: w}
			next.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), ctxTestKey(name), name)))
			record <- fmt.Sprint(name, " ", rec.status, " ", rec.Header().Get("Content-Type"))
		})
	}
}

type ctxTestKey string

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestMiddlewareOfNetHTTP(t *testing.T) {
	record := make(chan string, 2)
	app := New(Config{Server: quiet()})
	app.UseFunc(func(c *Ctx) error {
		c.SetHeader("X-Outer", "o")
		err := c.Next()
		c.SetHeader("X-After", "a")
		return err
	}, FromMiddleware(tagging("1", record)), FromMiddleware(tagging("2", record)))
	show := func(c *Ctx) string {
		return fmt.Sprint(c.ReqHeader("X-Seen"), "|", c.ReqHeader("X-Secret"), "|", c.Value(ctxTestKey("1")), c.Value(ctxTestKey("2")), "|", c.ReqHeader("X-Keep"), "|", c.Params("x"))
	}
	app.Get("/web/:x", func(c *Ctx) error { return c.Status(201).SendString(show(c)) })
	app.Get("/html", func(c *Ctx) error { return c.HTML("<p>") })
	app.Get("/none", func(c *Ctx) error { return c.SendStatus(204) })
	app.Get("/error", func(c *Ctx) error { return NewError(409, "no") })
	app.Get("/big", func(c *Ctx) error { return c.SendString(strings.Repeat("x", 100000)) })
	app.Get("/file", func(c *Ctx) error { return c.SendFS(fstest.MapFS{"a.txt": {Data: []byte("file")}}, "a.txt") })
	app.Get("/stream", func(c *Ctx) error { return c.SendStream(strings.NewReader("stream")) })
	app.Get("/writer", func(c *Ctx) error {
		c.SetHeader("X-Own", "w").Type("txt")
		return c.SendStreamWriter(func(w *bufio.Writer) error { _, err := w.WriteString("writer"); return err })
	})
	app.Get("/http/:x", httpFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := CtxOf(r)
		w.WriteHeader(202)
		fmt.Fprint(w, show(c), r.Context().Value(ctxTestKey("2")))
	}))
	for path, want := range map[string]string{
		"/web/p": "201 12||12|k|p 1 201 text/plain; charset=utf-8", "/html": "200 <p> 1 200 text/html; charset=utf-8", "/none": "204  1 204 ",
		"/error": "409 no 1 409 text/plain; charset=utf-8", "/big": "200 " + strings.Repeat("x", 100000) + " 1 200 text/plain; charset=utf-8",
		"/file": "200 file 1 200 text/plain; charset=utf-8", "/stream": "200 stream 1 200 text/plain; charset=utf-8",
		"/writer": "200 writer 1 200 text/plain; charset=utf-8", "/http/p": "202 12||12|k|p2 1 202 ", "/missing": "404 Not Found 1 404 text/plain; charset=utf-8",
	} {
		status, body, h := ask(t, app, "GET", path, "X-Secret: s", "X-Keep: k")
		<-record
		if got := fmt.Sprint(status, " ", body, " ", <-record); got != want {
			t.Errorf("%s: %.200s, want %.200s", path, got, want)
		}
		if h.Get("X-Before") != "2" || h.Get("X-Outer") != "o" || len(h.Values("Content-Type")) > 1 || path != "/writer" && path != "/big" && h.Get("X-After") != "a" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// Middleware may answer by itself, change what comes back, or give up on what is behind it.
func TestMiddlewareThatInterferes(t *testing.T) {
	// The time is up when all wait for it, and not before the handler has begun.
	synctest.Test(t, middlewareThatInterferes)
}

func middlewareThatInterferes(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Group("/denied", FromMiddleware(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	})).
		Get("/", says("never"))
	app.Group("/zipped", FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			next.ServeHTTP(zippedWriter{w, z}, r)
		})
	})).Get("/", func(c *Ctx) error { return c.SendString("plain") })
	entered, ended := make(chan struct{}), make(chan struct{})
	app.Group("/late", FromMiddleware(func(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Millisecond, "late") })).Get("/", func(c *Ctx) error {
		close(entered)
		<-c.Done()
		defer close(ended)
		return c.SendString(c.Path())
	})
	app.Group("/twice", FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r); next.ServeHTTP(w, r) })
	})).Get("/", says("once"))
	app.Group("/lost", FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r.WithContext(t.Context())) })
	})).Get("/", says("never"))
	for path, want := range map[string]string{"/denied/": "403 no\n", "/late/": "503 late", "/twice/": "200 once", "/lost/": "500 Internal Server Error"} {
		status, body, _ := ask(t, app, "GET", path)
		if got := fmt.Sprint(status, " ", body); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	<-entered
	select {
	case <-ended:
	default:
		t.Error("the answer did not wait for what was passed on")
	}
	_, body, _ := ask(t, app, "GET", "/zipped/")
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(z); string(plain) != "plain" || err != nil {
		t.Errorf("%q %v", plain, err)
	}
}

// Middleware that passes on what it was given leaves everything as it is without it.
func TestMiddlewareThatDoesNothing(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Use(FromMiddleware(func(next http.Handler) http.Handler { return next }))
	app.Get("/stream", func(c *Ctx) error { return c.SendStreamSize(strings.NewReader(strings.Repeat("s", 10000)), 10000) })
	app.Get("/flushed", httpFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		io.Copy(w, strings.NewReader("b"))
		http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}))
	app.Get("/breaks", func(c *Ctx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) error { w.WriteString("half"); w.Flush(); return errors.New("no") })
	})
	app.Get("/behind", func(c *Ctx) error { c.Next(); return errors.New("logged") }, httpFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "written") }))
	for path, want := range map[string]string{"/stream": "10000 " + strings.Repeat("s", 10000), "/flushed": " ab", "/behind": "7 written"} {
		if status, body, h := ask(t, app, "GET", path); status != 200 || h.Get("Content-Length")+" "+body != want {
			t.Errorf("%s: %d %.40q %v", path, status, body, h)
		}
	}
	request, _ := http.NewRequest("GET", "/breaks", nil)
	if _, err := app.Test(request); err == nil {
		t.Error("a broken stream looks whole")
	}
}

// Middleware of net/http also passes on the Content-Length of HEAD, Connection: close and trailers.
func TestMiddlewareLeavesTheFraming(t *testing.T) {
	app := New(Config{Server: quiet()})
	for prefix, group := range map[string]*Router{"/in": app.Group("/in", FromMiddleware(func(next http.Handler) http.Handler { return next })), "/out": app.Group("/out")} {
		group.Head("/length", func(c *Ctx) error { c.SetHeader("Content-Length", "77"); return nil })
		group.Get("/length", func(c *Ctx) error { return c.SendString("not HEAD's") })
		group.Get("/last", func(c *Ctx) error { c.RequestCtx().SetConnectionClose(); return c.SendString("last") })
		group.Get("/trailers", func(c *Ctx) error {
			h := &c.RequestCtx().Response.Header
			h.AddTrailer("X-Early, X-Late")
			h.Set("X-Early", "1")
			return c.SendStreamWriter(func(w *bufio.Writer) error {
				h.Set("X-Late", "2")
				_, err := w.WriteString("body")
				return err
			})
		})
		request, _ := http.NewRequest("GET", prefix+"/trailers", nil)
		if answer, err := app.Test(request); err != nil || fmt.Sprint(answer.Trailer) != "map[X-Early:[1] X-Late:[2]]" || answer.Header.Get("X-Early")+answer.Header.Get("X-Late") != "" {
			t.Errorf("%s: %v %v", prefix, answer, err)
		}
		client, server := memnet.Pipe()
		fmt.Fprintf(client, "HEAD %s/length HTTP/1.1\r\nHost: h\r\n\r\nGET %[1]s/last HTTP/1.1\r\nHost: h\r\n\r\n", prefix)
		client.CloseWrite()
		app.config.Server.ServeConn(server)
		r := bufio.NewReader(client)
		head, err := http.ReadResponse(r, &http.Request{Method: "HEAD"})
		if err != nil || head.ContentLength != 77 {
			t.Errorf("%s: %+v %v", prefix, head, err)
		}
		last, err := http.ReadResponse(r, nil)
		if err != nil || !last.Close {
			t.Errorf("%s: %+v %v", prefix, last, err)
		}
	}
}

// If middleware of net/http recovers, the response that the handler had begun is discarded, and the Ctx keeps no layer
// of the middleware.
func TestMiddlewareThatRecovers(t *testing.T) {
	app := New(Config{Server: quiet()})
	var c1 *Ctx
	app.UseFunc(func(c *Ctx) error {
		err := c.Next()
		if c1 = c; c.layer != nil || c.context.Load() != nil {
			t.Error("the layer stayed")
		}
		return err
	}, FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if recover() != nil {
					w.Write([]byte("recovered"))
				}
			}()
			next.ServeHTTP(w, r)
		})
	}))
	app.Get("/", func(c *Ctx) error { c.Status(201).SendString("half an answer"); panic("no") })
	if status, body, _ := ask(t, app, "GET", "/"); status != 200 || body != "recovered" || c1 == nil {
		t.Errorf("%d %q", status, body)
	}
}

// An error is answered as long as nothing else was, also that of middleware around a handler of net/http.
func TestErrorsAroundHandlersOfNetHTTP(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.UseFunc(FromMiddleware(func(next http.Handler) http.Handler { return next }), func(c *Ctx) (err error) {
		defer func() {
			if recover() != nil {
				err = NewError(503, "recovered")
			}
		}()
		return c.Next()
	})
	app.Get("/panics", httpFunc(func(http.ResponseWriter, *http.Request) { panic("no") }))
	app.Get("/refused", func(c *Ctx) error { c.Next(); return NewError(409, "refused") }, httpFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusEarlyHints) }))
	app.Get("/answered", func(c *Ctx) error { c.Next(); return NewError(409, "refused") }, httpFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(202) }))
	for target, want := range map[string]string{"/panics": "503 recovered", "/refused": "409 refused", "/answered": "202 "} {
		status, body, _ := ask(t, app, "GET", target)
		if got := fmt.Sprint(status, " ", body); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

// Middleware that recovers, as chi's Recoverer, lets http.ErrAbortHandler pass; so a stream that breaks off behind it does not
// look whole, and a handler can end the connection.
func TestMiddlewareThatRecoversLetsAbortsPass(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Use(FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if v := recover(); v == http.ErrAbortHandler {
					panic(v)
				} else if v != nil {
					w.WriteHeader(500)
				}
			}()
			next.ServeHTTP(w, r)
		})
	}))
	app.Get("/breaks", func(c *Ctx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) error { w.WriteString("half"); w.Flush(); return errors.New("no") })
	})
	app.Get("/aborts", func(*Ctx) error { panic(gallop.ErrAbortHandler) })
	app.Get("/panics", func(*Ctx) error { panic("no") })
	for _, target := range []string{"/breaks", "/aborts"} {
		request, _ := http.NewRequest("GET", target, nil)
		if response, err := app.Test(request); err == nil {
			t.Errorf("%s: answered %s", target, response.Status)
		}
	}
	if status, _, _ := ask(t, app, "GET", "/panics"); status != 500 {
		t.Errorf("another panic: %d", status)
	}
}

// A Content-Type that middleware of net/http has set stays unless a handler sets another one.
func TestContentTypeByMiddleware(t *testing.T) {
	const html, text, json = "text/html; charset=utf-8", "text/plain; charset=utf-8", "application/json"
	for _, tt := range []struct {
		name          string
		send          Handler
		with, without string // a type that middleware has set
	}{
		{name: "SendString", send: func(c *Ctx) error { return c.SendString("x") }, with: html, without: text},
		{name: "SetBodyString", send: func(c *Ctx) error { c.RequestCtx().SetBodyString("x"); return nil }, with: html, without: text},
		{name: "JSON", send: func(c *Ctx) error { return c.JSON(1) }, with: html, without: json},
		{name: "SendStreamWriter", send: func(c *Ctx) error {
			return c.SendStreamWriter(func(w *bufio.Writer) error { return w.WriteByte('x') })
		}, with: html, without: text},
		{name: "Type", send: func(c *Ctx) error { return c.Type("json").SendString("1") }, with: json, without: json},
		{name: "Type with the default", send: func(c *Ctx) error { return c.Type("txt").SendString("1") }, with: text, without: text},
		{name: "Set", send: func(c *Ctx) error { return c.SetHeader("Content-Type", json).SendString("1") }, with: json, without: json},
		{name: "SetContentType", send: func(c *Ctx) error {
			c.RequestCtx().SetContentType(json)
			c.RequestCtx().SetBodyString("x")
			return nil
		}, with: json, without: json},
		{name: "Type and a stream", send: func(c *Ctx) error {
			return c.Type("json").SendStreamWriter(func(w *bufio.Writer) error { return w.WriteByte('1') })
		}, with: json, without: json},
		{name: "Format", send: func(c *Ctx) error { return c.Format(Offer{MediaType: "json", Handler: says("1")}) }, with: json, without: json},
		{name: "AutoFormat", send: func(c *Ctx) error { return c.AutoFormat("x") }, with: text, without: text},
		{name: "an error", send: func(*Ctx) error { return NewError(409, "no") }, with: text, without: text},
		{name: "a handler of net/http", send: FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "x")
		})), with: html, without: text},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, set := range []string{"", html} {
				app := New(Config{Server: quiet()})
				app.Use(FromMiddleware(func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if set != "" {
							w.Header().Set("Content-Type", set)
						}
						next.ServeHTTP(w, r)
					})
				}))
				app.Get("/", tt.send)
				want := tt.with
				if set == "" {
					want = tt.without
				}
				if _, _, h := ask(t, app, "GET", "/", "Accept: text/plain, application/json;q=0.5"); !slices.Equal(h["Content-Type"], []string{want}) {
					t.Errorf("with %q: %q, want %q", set, h["Content-Type"], want)
				}
			}
		})
	}
}

// Headers that a handler sets replace those that middleware has set before, like between handlers of net/http.
func TestFieldsOfMiddlewareAreReplaced(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Use(FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for name, value := range map[string]string{
				"Content-Type": "text/html", "Cache-Control": "no-cache", "Vary": "Origin", "Set-Cookie": "a=b", "X-Kept": "k",
			} {
				w.Header().Set(name, value)
			}
			next.ServeHTTP(w, r)
		})
	}))
	set := func(c *Ctx) {
		c.SetHeader("Cache-Control", "public").Vary("Accept")
		c.SetCookie(Cookie{Name: "c"})
		c.RequestCtx().Response.Header.Add("X-Two", "1")
		c.RequestCtx().Response.Header.Add("X-Two", "2")
	}
	app.Get("/json", func(c *Ctx) error { set(c); return c.Type("json").JSON(1) })
	app.Get("/chosen", func(c *Ctx) error { set(c); return c.JSON(1) })
	app.Get("/stream", func(c *Ctx) error {
		set(c)
		c.Type("json")
		return c.SendStreamWriter(func(w *bufio.Writer) error { return w.WriteByte('1') })
	})
	for target, mediaType := range map[string]string{"/json": "application/json", "/chosen": "text/html", "/stream": "application/json"} {
		_, body, h := ask(t, app, "GET", target)
		got := fmt.Sprint(body, h["Content-Type"], h["Cache-Control"], h["Vary"], len(h["Set-Cookie"]), h["X-Kept"], h["X-Two"])
		if want := "1[" + mediaType + "] [public] [Origin Accept] 2 [k] [1 2]"; got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

// Nothing runs behind middleware that has returned, and nothing is begun then.
func TestMiddlewareThatDoesNotWait(t *testing.T) {
	app := New(Config{Server: quiet()})
	entered, leave := make(chan struct{}), make(chan struct{})
	ended := false
	var late http.Handler
	app.Group("/a", FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			go next.ServeHTTP(w, r)
			<-entered
			close(leave)
		})
	})).Get("/", func(c *Ctx) error {
		close(entered)
		<-leave
		for range 100 {
			runtime.Gosched()
		}
		ended = true
		return c.SendString(c.Path())
	})
	app.Group("/b", FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			late = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { next.ServeHTTP(w, r) })
		})
	})).Get("/", says("never"))
	outer := New(Config{Server: quiet()})
	outer.UseFunc(func(c *Ctx) error {
		err := c.Next()
		if !ended {
			t.Error("it still runs")
		}
		return err
	})
	outer.Mount("/", app)
	ask(t, outer, "GET", "/a/")
	if status, body, _ := ask(t, outer, "GET", "/b/"); status != 200 || body != "" {
		t.Errorf("%d %q", status, body)
	}
	late.ServeHTTP(nil, nil)
}

type zippedWriter struct {
	http.ResponseWriter
	z *gzip.Writer
}

func (w zippedWriter) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}
func (w zippedWriter) Write(p []byte) (int, error) { return w.z.Write(p) }

// Handlers of net/http find the values of SetContext and SetLocal in their context, but only until they return.
func TestContextOfNetHTTPHandlers(t *testing.T) {
	type key struct{}
	app := New(Config{Server: quiet()})
	var kept context.Context
	app.Get("/values", func(c *Ctx) error {
		c.SetLocal("local", "l")
		c.SetContext(context.WithValue(c.Context(), key{}, "v"))
		return c.Next()
	}, httpFunc(func(w http.ResponseWriter, r *http.Request) {
		kept = r.Context()
		fmt.Fprint(w, r.Context().Value(key{}), r.Context().Value("local"), r.Context().Err())
	}))
	app.Get("/ends", func(c *Ctx) error {
		ctx, cancel := context.WithTimeout(c.Context(), time.Millisecond)
		defer cancel()
		c.SetContext(ctx)
		return c.Next()
	}, httpFunc(func(w http.ResponseWriter, r *http.Request) {
		_, ok := r.Context().Deadline()
		<-r.Context().Done()
		fmt.Fprint(w, ok, errors.Is(r.Context().Err(), context.DeadlineExceeded))
	}))
	if _, body, _ := ask(t, app, "GET", "/values"); body != "vl<nil>" {
		t.Error(body)
	}
	if kept.Value(key{}) != nil || kept.Err() == nil {
		t.Error("a context that was kept has not ended")
	}
	if _, body, _ := ask(t, app, "GET", "/ends"); body != "true true" {
		t.Error(body)
	}
}

// Streams of net/http's handlers flow, connections can be hijacked, and events go through middleware.
func TestNetHTTPStreamsAndHijacks(t *testing.T) {
	t.Run("memory", func(t *testing.T) { netHTTPStreamsAndHijacks(t, listening) })
	t.Run("TCP", func(t *testing.T) { netHTTPStreamsAndHijacks(t, onTCP) })
}

func netHTTPStreamsAndHijacks(t *testing.T, listening func(t *testing.T, app *App) (dial func() net.Conn)) {
	app := New(Config{Server: quiet()})
	record := make(chan string, 1)
	more := make(chan bool)
	app.Get("/flow", httpFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "one")
		http.NewResponseController(w).Flush()
		<-more
		fmt.Fprintln(w, "two")
	}))
	hijack := func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nraw")
		rw.Flush()
	}
	app.Get("/hijack", httpFunc(hijack))
	app.Group("/under", FromMiddleware(tagging("h", make(chan string, 1)))).Get("/hijack", httpFunc(hijack))
	app.Group("/under", FromMiddleware(tagging("m", record))).Get("/events", func(c *Ctx) error {
		return c.SSE(func(s *EventStream) error {
			s.Send(Event{Data: "one"})
			<-more
			return s.Send(Event{Data: "two"})
		})
	})
	dial := listening(t, app)
	for target, want := range map[string][2]string{"/flow": {"one\n", "two\n"}, "/under/events": {"data: one\n", "\ndata: two\n\n"}} {
		_, response := get(t, dial(), target)
		body := bufio.NewReader(response.Body)
		line, err := body.ReadString('\n')
		if line != want[0] || err != nil {
			t.Errorf("%s: %q %v", target, line, err)
		}
		more <- true
		if rest, err := io.ReadAll(body); string(rest) != want[1] || err != nil {
			t.Errorf("%s: %q %v", target, rest, err)
		}
	}
	for _, target := range []string{"/hijack", "/under/hijack"} {
		r, response := get(t, dial(), target)
		if rest, err := io.ReadAll(r); response.StatusCode != 101 || string(rest) != "raw" || err != nil {
			t.Errorf("%s: %v %q %v", target, response.Status, rest, err)
		}
	}
}

// The application is served by others, too.
func TestServedByOthers(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Get("/", func(c *Ctx) error { return c.Status(203).SendString(c.Method() + c.ReqHeader("X-A")) })
	for name, h := range map[string]http.Handler{"itself": app, "ToHTTP": nethttp.ToHTTP(app.Handler())} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-A", "a")
		if h.ServeHTTP(w, r); w.Code != 203 || w.Body.String() != "GETa" {
			t.Errorf("%s: %d %q", name, w.Code, w.Body)
		}
	}
}

// Middleware of net/http that guards a path sees the one whose route runs.
func TestMiddlewareOfNetHTTPSeesTheRoutedPath(t *testing.T) {
	var seen, target string
	app := New(Config{})
	app.Use(FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if seen, target = r.URL.Path, r.RequestURI; strings.HasPrefix(r.URL.Path, "/private") {
				http.Error(w, "guarded", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	}))
	app.Get("/private/*", says("SECRET"))
	app.Get("/private/handler", httpFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "SECRET") }))
	app.Get("/open/*", httpFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.URL.EscapedPath()+" "+r.URL.RawQuery)
	}))
	for _, way := range []string{
		"/private/a", "//private/a", "///private//a", "/x/../private/a", "/x/..//private/a", "/x//../private/a", "/./private/a",
		"/%2e/private/a", "/x/%2e%2E/private/a", "/.//private/handler", "/open/../private/handler?a=/open", "/open//..//../private/a%2fb",
	} {
		if status, body, _ := ask(t, app, "GET", way); status != 403 || strings.Contains(body, "SECRET") {
			t.Errorf("%s: %d %q, seen as %s", way, status, body, seen)
		}
		if target != way && !strings.HasPrefix(target, "http://") {
			t.Errorf("RequestURI is %s, want %s", target, way)
		}
	}
	for way, want := range map[string]string{
		"//open//a?b=//c": "/open/a b=//c", "/open/a%2Fb//c": "/open/a%2Fb/c ", "/open/.a": "/open/.a ", "/open/x/../%C3%BC": "/open/%C3%BC ",
		"/open/a%20//%5Bb": "/open/a%20/%5Bb ", "/open/a%2F../b": "/open/a%2F../b ",
	} {
		if _, body, _ := ask(t, app, "GET", way); body != want {
			t.Errorf("%s: %q, want %q", way, body, want)
		}
	}
}
