package web_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/web"
)

// greet is a Handler: a function with its signature is assignable to it.
func greet(c *web.Ctx) error { return c.SendString("hello, " + c.Params("name")) }

func ExampleRouter_Get() {
	app := web.New(web.Config{})
	app.Get("/hello/{name}", greet)
	app.Get("/orders/{id<int>}", func(c *web.Ctx) error { return c.SendString("order " + c.Params("id")) })
	app.Get("/files/{path...}", func(c *web.Ctx) error { return c.SendString("file " + c.Params("path")) })
	show(app, httptest.NewRequest("GET", "/hello/gopher", nil))
	show(app, httptest.NewRequest("GET", "/orders/7", nil))
	show(app, httptest.NewRequest("GET", "/files/a/b.txt", nil))
	// Output:
	// 200 hello, gopher
	// 200 order 7
	// 200 file a/b.txt
}

// Handlers of net/http and gallop are registered through a function that says so.
func ExampleFromHTTP() {
	app := web.New(web.Config{})
	app.Get("/handler/{x}", web.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := web.CtxOf(r)
		fmt.Fprint(w, r.PathValue("x"), " by ", c.Route().Pattern())
	})))
	app.Get("/gallop", web.FromGallop(func(ctx *gallop.RequestCtx) { ctx.WriteString("gallop") }))
	show(app, httptest.NewRequest("GET", "/handler/1", nil))
	show(app, httptest.NewRequest("GET", "/gallop", nil))
	// Output:
	// 200 1 by /handler/{x}
	// 200 gallop
}

// only is Middleware: settings that make a Handler. The structs of package middleware are made like this.
type only struct{ Method string }

func (o only) Handler() web.Handler {
	return func(c *web.Ctx) error {
		if c.Method() != o.Method {
			return web.ErrMethodNotAllowed
		}
		return c.Next()
	}
}

// Use takes structs and Handlers, UseFunc takes functions.
func ExampleRouter_Use() {
	app := web.New(web.Config{})
	app.Use(only{Method: "GET"}, web.FromMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Println("net/http")
			next.ServeHTTP(w, r)
		})
	}))
	app.UseFunc(func(c *web.Ctx) error {
		fmt.Println("function")
		return c.Next()
	})
	api := app.Group("/api", web.Handler(func(c *web.Ctx) error { return c.Next() }))
	api.Get("/hello/{name}", greet)
	show(app, httptest.NewRequest("GET", "/api/hello/gopher", nil))
	// Output:
	// net/http
	// function
	// 200 hello, gopher
}

// A program that adds routes while it serves gets an error instead of a panic.
func ExampleRouter_TryAdd() {
	app := web.New(web.Config{})
	app.Get("/hello/{name}", greet)
	_, err := app.TryAdd("GET", "/hello/{who}", greet)
	fmt.Println(err)
	_, err = app.TryAdd("GET", "/orders/{id:int}", greet)
	fmt.Println(err)
	// Output:
	// web: the routes GET /hello/{name} and GET /hello/{who} match the same requests: change the path, method or host of one, or remove it
	// web: route GET /orders/{id:int}: path "/orders/{id:int}": constraints stand in angle brackets: write {id<int>}, or {id<regex([0-9]+)>} for an expression
}

func ExampleRouter_Mount() {
	shop := web.New(web.Config{})
	shop.Get("/items/{id}", func(c *web.Ctx) error { return c.SendString("item " + c.Params("id")) })
	app := web.New(web.Config{})
	app.Mount("/shop", shop)
	show(app, httptest.NewRequest("GET", "/shop/items/7", nil))
	// Output:
	// 200 item 7
}

func ExampleRouter_Host() {
	app := web.New(web.Config{})
	app.Host("{tenant}.example.com").Get("/", func(c *web.Ctx) error { return c.SendString(c.Params("tenant")) })
	show(app, httptest.NewRequest("GET", "http://acme.example.com/", nil))
	// Output:
	// 200 acme
}

// multipleOf reads its argument when the route is registered, and refuses one that is not a number.
func multipleOf(argument string) (match func(value string) bool, err error) {
	n, err := strconv.Atoi(argument)
	if err != nil || n == 0 {
		return nil, errors.New("the argument has to be a number and not 0")
	}
	return func(value string) bool {
		v, err := strconv.Atoi(value)
		return err == nil && v%n == 0
	}, nil
}

func ExampleConstraint() {
	app := web.New(web.Config{Constraints: map[string]web.Constraint{"multipleOf": multipleOf}})
	app.Get("/{n<multipleOf(3)>}", func(c *web.Ctx) error { return c.SendString("fits") })
	show(app, httptest.NewRequest("GET", "/9", nil))
	show(app, httptest.NewRequest("GET", "/10", nil))
	_, err := app.TryAdd("GET", "/x/{n<multipleOf(three)>}", greet)
	fmt.Println(err)
	// Output:
	// 200 fits
	// 404 Not Found
	// web: route GET /x/{n<multipleOf(three)>}: path "/x/{n<multipleOf(three)>}": constraint multipleOf(three): the argument has to be a number and not 0
}

// Run serves until its context ends, for example that of signal.NotifyContext, and OnListen tells the address.
func ExampleApp_Run() {
	ctx, stop := context.WithCancel(context.Background())
	app := web.New(web.Config{OnListen: func(ln net.Listener) {
		fmt.Println("listening on", ln.Addr().Network())
		stop()
	}})
	fmt.Println(app.Run(ctx, memnet.NewListener()), app.Addrs())
	// Output:
	// listening on memory
	// <nil> []
}

// Serve serves a listener until Shutdown, or Close, which does not wait for requests.
func ExampleApp_Serve() {
	listening := make(chan struct{})
	app := web.New(web.Config{OnListen: func(net.Listener) { close(listening) }})
	served := make(chan error)
	go func() { served <- app.Serve(memnet.NewListener()) }()
	<-listening
	fmt.Println(len(app.Addrs()), app.Close(), <-served)
	// Output:
	// 1 <nil> <nil>
}
