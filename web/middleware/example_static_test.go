package middleware_test

import (
	"fmt"
	"io"
	"net/http"
	"testing/fstest"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// Static looks for a file if no route matches the request.
func ExampleStatic_Handler() {
	app := web.New(web.Config{})
	app.Get("/", func(c *web.Ctx) error { return c.SendString("a route") })
	app.NotFound(middleware.Static{FS: fstest.MapFS{"robots.txt": {Data: []byte("a file")}}}.Handler())

	for _, target := range []string{"/", "/robots.txt", "/none"} {
		request, _ := http.NewRequest("GET", target, nil)
		response, err := app.Test(request)
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, _ := io.ReadAll(response.Body)
		fmt.Println(response.StatusCode, string(body))
	}
	// Output:
	// 200 a route
	// 200 a file
	// 404 Not Found
}
