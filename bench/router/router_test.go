// Package router compares routers with the 203 routes of GitHub's API, 167 of which have parameters.
//
//	go test -bench . -cpu 1
//
// One operation passes a request to the framework's own entry point, without a server. The request is created
// beforehand, and its handler does nothing. All requests every route once; Static and Param request one route each.
package router

import (
	_ "embed"
	"io"
	"log"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gofiber/fiber/v3"
	"github.com/julienschmidt/httprouter"
	"github.com/labstack/echo/v4"
	"github.com/valyala/fasthttp"
)

//go:embed testdata/github.txt
var github string

// route is a method and a pattern with parameters in the form ":name".
type route struct{ method, pattern string }

func routes() (list []route) {
	for line := range strings.Lines(github) {
		method, pattern, _ := strings.Cut(strings.TrimSpace(line), " ")
		list = append(list, route{method, pattern})
	}
	return list
}

var parameter = regexp.MustCompile(`:(\w+)`)

// target returns a path that matches the route.
func (r route) target() string { return parameter.ReplaceAllString(r.pattern, "a-$1") }

// braced returns the pattern in the syntax of net/http and chi.
func (r route) braced() string { return parameter.ReplaceAllString(r.pattern, "{$1}") }

// router is a framework with all routes. prepare returns a function that passes one request for the target to it.
// calls counts the handlers that ran.
type router struct {
	name    string
	prepare func(method, target string) func()
}

var calls int

func routers() []router {
	return []router{
		{"gallop", newGallop()}, {"fiber", newFiber()}, {"echo", newNetHTTP(newEcho())},
		{"gin", newNetHTTP(newGin())}, {"httprouter", newNetHTTP(newHTTPRouter())}, {"chi", newNetHTTP(newChi())}, {"nethttp", newNetHTTP(newMux())},
	}
}

func newGallop() func(method, target string) func() {
	app := web.New(web.Config{})
	for _, r := range routes() {
		app.Add(r.method, r.pattern, func(*web.Ctx) error { calls++; return nil })
	}
	handler := app.Handler()
	return func(method, target string) func() {
		ctx := &gallop.RequestCtx{}
		ctx.Request.Header.SetMethod(method)
		ctx.Request.SetRequestURI(target)
		return func() { handler(ctx) }
	}
}

func newFiber() func(method, target string) func() {
	app := fiber.New(fiber.Config{CaseSensitive: true, StrictRouting: true})
	for _, r := range routes() {
		app.Add([]string{r.method}, r.pattern, func(fiber.Ctx) error { calls++; return nil })
	}
	handler := app.Handler()
	return func(method, target string) func() {
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.Header.SetMethod(method)
		ctx.Request.SetRequestURI(target)
		return func() { handler(ctx) }
	}
}

func newEcho() http.Handler {
	e := echo.New()
	for _, r := range routes() {
		e.Add(r.method, r.pattern, func(echo.Context) error { calls++; return nil })
	}
	return e
}

func newGin() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	for _, r := range routes() {
		e.Handle(r.method, r.pattern, func(*gin.Context) { calls++ })
	}
	return e
}

func newHTTPRouter() http.Handler {
	router := httprouter.New()
	for _, r := range routes() {
		router.Handle(r.method, r.pattern, func(http.ResponseWriter, *http.Request, httprouter.Params) { calls++ })
	}
	return router
}

func newChi() http.Handler {
	mux := chi.NewRouter()
	for _, r := range routes() {
		mux.MethodFunc(r.method, r.braced(), func(http.ResponseWriter, *http.Request) { calls++ })
	}
	return mux
}

func newMux() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.HandleFunc(r.method+" "+r.braced(), func(http.ResponseWriter, *http.Request) { calls++ })
	}
	return mux
}

func newNetHTTP(h http.Handler) func(method, target string) func() {
	return func(method, target string) func() {
		request, err := http.NewRequest(method, target, nil)
		if err != nil {
			panic(err)
		}
		w := nowhere{http.Header{}}
		return func() { h.ServeHTTP(w, request) }
	}
}

// nowhere is a ResponseWriter that discards everything.
type nowhere struct{ header http.Header }

func (w nowhere) Header() http.Header         { return w.header }
func (w nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w nowhere) WriteHeader(int)             {}

// run runs the requests of one operation. It fails unless a handler runs for each.
func run(b *testing.B, requests []func()) {
	b.ReportAllocs()
	for _, request := range requests {
		request() // warm up
	}
	calls = 0
	n := 0
	for b.Loop() {
		for _, request := range requests {
			request()
		}
		n += len(requests)
	}
	if calls != n {
		b.Errorf("%d handlers ran for %d requests", calls, n)
	}
}

func BenchmarkGitHub(b *testing.B) {
	log.SetOutput(io.Discard)
	one := func(method, target string) func(r router) []func() {
		return func(r router) []func() { return []func(){r.prepare(method, target)} }
	}
	for _, kind := range []struct {
		name     string
		requests func(r router) []func()
	}{
		{"Static", one("GET", "/user/repos")},
		{"Param", one("GET", "/repos/a-owner/a-repo/stargazers")},
		{"ManyParams", one("GET", "/repos/a-owner/a-repo/git/tags/a-sha")},
		{"All", func(r router) (list []func()) {
			for _, route := range routes() {
				list = append(list, r.prepare(route.method, route.target()))
			}
			return list
		}},
	} {
		for _, r := range routers() {
			b.Run(kind.name+"/server="+r.name, func(b *testing.B) { run(b, kind.requests(r)) })
		}
	}
}

// TestEveryRoute shows that each router finds all routes.
func TestEveryRoute(t *testing.T) {
	all := routes()
	if len(all) != 203 {
		t.Errorf("%d routes", len(all))
	}
	for _, r := range routers() {
		for _, route := range all {
			calls = 0
			r.prepare(route.method, route.target())()
			if calls != 1 {
				t.Errorf("%s: %s %s ran %d handlers", r.name, route.method, route.target(), calls)
			}
		}
	}
}
