package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func ExampleMemoryStore() {
	ctx := context.Background()
	var store middleware.MemoryStore // with room for 64 MiB

	if err := store.Set(ctx, "session:7", []byte("gopher"), time.Hour); err != nil {
		fmt.Println(err)
	}
	value, found, err := store.Get(ctx, "session:7")
	fmt.Printf("%s %t %v\n", value, found, err)
	_, found, err = store.Get(ctx, "session:8")
	fmt.Println(found, err)

	// Only one of several requests may do the work.
	for range 2 {
		owner, added, err := store.Add(ctx, "payment:1", []byte("worker"), time.Minute)
		fmt.Printf("%q %t %v\n", owner, added, err)
	}

	// A request changes only what no other request has changed.
	swapped, err := store.CompareAndSwap(ctx, "session:7", []byte("somebody"), []byte("admin"), time.Hour)
	fmt.Println(swapped, err)

	for range 2 {
		visits, _, err := store.Incr(ctx, "visits", 1, 24*time.Hour)
		fmt.Println(visits, err)
	}
	// Output:
	// gopher true <nil>
	// false <nil>
	// "" true <nil>
	// "worker" false <nil>
	// false <nil>
	// 1 <nil>
	// 2 <nil>
}

func ExampleTaker() {
	var store middleware.Taker = new(middleware.MemoryStore)
	take := func(user string) {
		limits := []middleware.Bucket{
			{Key: "minute:" + user, Limit: 60, Window: time.Minute, Burst: 2}, // one request in each second
			{Key: "day:" + user, Limit: 1000, Window: 24 * time.Hour},
		}
		ok, err := store.Take(context.Background(), 1, limits)
		fmt.Println(ok, err, limits[0].Left, limits[1].Left, limits[0].RetryAfter.Round(time.Second))
	}
	take("gopher")
	take("gopher")
	take("gopher")
	// Output:
	// true <nil> 1 999 0s
	// true <nil> 0 998 0s
	// false <nil> 0 998 1s
}

func ExampleLogger() {
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "time" || a.Key == "duration" {
			return slog.Attr{}
		}
		return a
	}})
	app := web.New(web.Config{})
	app.Use(middleware.Logger{
		Log:  slog.New(handler),
		Skip: func(c *web.Ctx) bool { return c.Path() == "/livez" }, // what balancers ask
	}.Handler())
	health := new(middleware.Health)
	app.Get("/livez", health.Live)
	app.Get("/hello/:name", func(c *web.Ctx) error { return c.SendString("Hello, " + c.Params("name")) })
	for _, target := range []string{"/livez", "/hello/gopher"} {
		if _, err := app.Test(httptest.NewRequest("GET", target, nil)); err != nil {
			fmt.Println(err)
		}
	}
	if err := app.Shutdown(context.Background()); err != nil { // so that the line is written
		fmt.Println(err)
	}
	// Output:
	// level=INFO msg=request method=GET route=/hello/:name path=/hello/gopher status=200 bytes=13
}

func ExampleCompress() {
	app := web.New(web.Config{})
	app.Use(middleware.Compress{Skip: func(c *web.Ctx) bool { return c.ReqHeader("Cookie") != "" }}.Handler())
	app.Get("/", func(c *web.Ctx) error { return c.SendString(strings.Repeat("Hello. ", 100)) })
	for _, cookie := range []string{"", "session=7"} {
		request := httptest.NewRequest("GET", "/", nil)
		request.Header.Set("Accept-Encoding", "gzip")
		request.Header.Set("Cookie", cookie)
		response, err := app.Test(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q\n", response.Header.Get("Content-Encoding"))
	}
	// Output:
	// "gzip"
	// ""
}

func ExamplePanicError() {
	app := web.New(web.Config{ErrorHandler: func(c *web.Ctx, err error) {
		var panicked *gallop.PanicError // the same type as middleware.PanicError
		if errors.As(err, &panicked) {
			fmt.Println("panicked with", panicked.Value)
		}
		web.DefaultErrorHandler(c, err)
	}, Server: &gallop.Server{Logger: newQuiet()}})
	app.Use(middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) {}}.Handler())
	app.Get("/", func(*web.Ctx) error { panic("no such index") })
	response, err := app.Test(httptest.NewRequest("GET", "/", nil))
	fmt.Println(response.StatusCode, err)
	// Output:
	// panicked with no such index
	// 500 <nil>
}
