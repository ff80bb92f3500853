package middleware_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"testing/fstest"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// Use and groups take the structs. A single route takes what the method Handler returns.
func Example_use() {
	app := web.New(web.Config{})
	app.Use(middleware.Recover{OnPanic: func(_ *web.Ctx, err *middleware.PanicError) { fmt.Println("panic:", err.Value) }}, middleware.Compress{})
	api := app.Group("/api", middleware.Timeout{After: 5 * time.Second})
	api.Post("/notes", middleware.BodyLimit{Size: 1 << 20}.Handler(), func(*web.Ctx) error { panic("no notes") })
	response, err := app.Test(httptest.NewRequest("POST", "/api/notes", nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.StatusCode)
	// Output:
	// panic: no notes
	// 500
}

// Static can be the handler of a route, or middleware that passes a request on if it has no such file.
func ExampleStatic() {
	files := fstest.MapFS{"a.txt": {Data: []byte("a file")}}
	app := web.New(web.Config{})
	app.Get("/assets/{file...}", middleware.Static{FS: files}.Endpoint())
	app.Group("", middleware.Static{FS: files}).Get("/{rest...}", func(c *web.Ctx) error { return c.SendString("no file") })
	for _, target := range []string{"/assets/a.txt", "/a.txt", "/b.txt"} {
		response, err := app.Test(httptest.NewRequest("GET", target, nil))
		if err != nil {
			fmt.Println(err)
			continue
		}
		io.Copy(os.Stdout, response.Body)
		fmt.Println()
	}
	// Output:
	// a file
	// a file
	// no file
}
