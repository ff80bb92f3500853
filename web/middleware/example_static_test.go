package middleware_test

import (
	"fmt"
	"io"
	"net/http"
	"testing/fstest"

	"github.com/gallop-http/gallop"
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

// Serve a built site: pages without .html in their paths, files with a hash in their names for a year, and a page for missing
// files.
func ExampleStatic_Endpoint() {
	site := fstest.MapFS{
		"about.html":      {Data: []byte("about us")},
		"app.3f2a9c1b.js": {Data: []byte("run()")},
		"404.html":        {Data: []byte("no such page")},
	}
	app := web.New(web.Config{})
	app.Get("/{file...}", middleware.Static{
		FS:           site,
		CleanURLs:    true,
		CacheControl: "no-cache",
		CacheRules:   []gallop.FileCacheRule{{Hashed: true, Value: gallop.CacheImmutable}},
		NotFoundFile: "404.html",
	}.Endpoint())

	for _, target := range []string{"/about", "/app.3f2a9c1b.js", "/none"} {
		request, _ := http.NewRequest("GET", target, nil)
		response, err := app.Test(request)
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, _ := io.ReadAll(response.Body)
		fmt.Println(response.StatusCode, string(body), response.Header.Get("Cache-Control"))
	}
	// Output:
	// 200 about us no-cache
	// 200 run() public, max-age=31536000, immutable
	// 404 no such page no-cache
}
