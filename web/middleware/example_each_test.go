package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// show sends a request to an app and prints the status and the body of the response. Names of headers and their values take turns in
// header.
func show(app *web.App, method, target, body string, header ...string) http.Header {
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := app.Test(request)
	if err != nil {
		fmt.Println(err)
		return http.Header{}
	}
	text, _ := io.ReadAll(response.Body)
	fmt.Println(strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, text)))
	return response.Header
}

// Bodies of more than 10 bytes get 413 before the handler runs.
func ExampleBodyLimit() {
	app := web.New(web.Config{})
	app.Use(middleware.BodyLimit{Size: 10})
	app.Post("/", func(c *web.Ctx) error { return c.Send(c.Body()) })

	show(app, "POST", "/", "short")
	show(app, "POST", "/", "more than ten bytes")
	// Output:
	// 200 short
	// 413 Request Entity Too Large
}

// A limit for one route.
func ExampleBodyLimit_Handler() {
	app := web.New(web.Config{})
	app.Post("/avatar", middleware.BodyLimit{Size: 1 << 20}.Handler(), func(c *web.Ctx) error { return c.SendString("saved") })

	show(app, "POST", "/avatar", "a small picture")
	show(app, "POST", "/avatar", strings.Repeat("x", 1<<20+1))
	// Output:
	// 200 saved
	// 413 Request Entity Too Large
}

// Pages of one site may read the responses.
func ExampleCORS() {
	app := web.New(web.Config{})
	app.Use(middleware.CORS{Origins: []string{"https://example.com"}})
	app.Get("/", func(c *web.Ctx) error { return c.SendString("hello") })

	for _, origin := range []string{"https://example.com", "https://evil.example"} {
		header := show(app, "GET", "/", "", "Origin", origin)
		fmt.Printf("may be read by: %q\n", header.Get("Access-Control-Allow-Origin"))
	}
	// Output:
	// 200 hello
	// may be read by: "https://example.com"
	// 200 hello
	// may be read by: ""
}

// A client that has the current version gets 304 and no body.
func ExampleETag() {
	app := web.New(web.Config{})
	app.Use(middleware.ETag{})
	app.Get("/", func(c *web.Ctx) error { return c.SendString("hello") })

	tag := show(app, "GET", "/", "").Get("ETag")
	show(app, "GET", "/", "", "If-None-Match", tag)
	show(app, "GET", "/", "", "If-None-Match", `"another"`)
	// Output:
	// 200 hello
	// 304
	// 200 hello
}

// The readiness probe fails while the database cannot be reached, and from Drain on.
func ExampleHealth() {
	var database error
	health := &middleware.Health{
		Checks:   map[string]func(context.Context) error{"database": func(context.Context) error { return database }},
		CacheFor: -1, // for this example
	}
	app := web.New(web.Config{})
	app.Get("/livez", health.Live)
	app.Get("/readyz", health.Ready)

	show(app, "GET", "/readyz", "")
	database = errors.New("connection refused")
	show(app, "GET", "/readyz", "")
	show(app, "GET", "/livez", "")
	database = nil
	health.Drain() // Health.Shutdown calls it
	show(app, "GET", "/readyz", "")
	// Output:
	// 200 ok
	// 503 not ready: database
	// 200 ok
	// 503 draining
}

// A handler that panics gets a response, and the connection stays open.
func ExampleRecover() {
	app := web.New(web.Config{})
	app.Use(middleware.Recover{OnPanic: func(c *web.Ctx, err *middleware.PanicError) {
		fmt.Println(c.Path(), "panicked:", err.Value)
	}})
	app.Get("/broken", func(c *web.Ctx) error { panic("no such index") })

	show(app, "GET", "/broken", "")
	// Output:
	// /broken panicked: no such index
	// 500 Internal Server Error
}

// The context of a handler that takes too long ends, and the client gets 503.
func ExampleTimeout() {
	app := web.New(web.Config{})
	app.Use(middleware.Timeout{After: 10 * time.Millisecond})
	app.Get("/slow", func(c *web.Ctx) error {
		select {
		case <-c.Done():
			return c.Err()
		case <-time.After(time.Minute):
			return c.SendString("done")
		}
	})
	app.Get("/fast", func(c *web.Ctx) error { return c.SendString("done") })

	show(app, "GET", "/slow", "")
	show(app, "GET", "/fast", "")
	// Output:
	// 503 Service Unavailable
	// 200 done
}
