package middleware_test

import (
	"context"
	"fmt"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// The handler runs once for all clients that accept the same language.
func ExampleCache() {
	app := web.New(web.Config{})
	app.Use(middleware.Cache{})
	app.Get("/news", func(c *web.Ctx) error {
		fmt.Println("the handler runs")
		c.SetHeader("Cache-Control", "max-age=60, stale-while-revalidate=30").Vary("Accept-Language")
		return c.SendString("news in " + c.AcceptsLanguages("en", "de"))
	})

	for _, language := range []string{"en", "en", "de"} {
		header := show(app, "GET", "/news", "", "Accept-Language", language)
		fmt.Println(header.Get("Cache-Status"))
	}
	// Output:
	// the handler runs
	// 200 news in en
	// gallop; fwd=uri-miss; stored
	// 200 news in en
	// gallop; hit; ttl=60
	// the handler runs
	// 200 news in de
	// gallop; fwd=vary-miss; stored
}

// A cache for one route whose handler sets no Cache-Control.
func ExampleCache_Handler() {
	app := web.New(web.Config{})
	prices := 0
	app.Get("/prices", middleware.Cache{TTL: time.Minute}.Handler(), func(c *web.Ctx) error {
		prices++
		return c.SendString(fmt.Sprint("prices ", prices))
	})

	show(app, "GET", "/prices", "")
	show(app, "GET", "/prices", "")
	show(app, "GET", "/prices", "", "Cookie", "user=ada") // may be for one user only
	// Output:
	// 200 prices 1
	// 200 prices 1
	// 200 prices 2
}

// A change that did not come through the app removes a page.
func ExampleCache_Purge() {
	pages := middleware.Cache{Store: new(middleware.MemoryStore), Name: "pages"}
	version := 1
	app := web.New(web.Config{})
	app.Use(pages)
	app.Get("/page", func(c *web.Ctx) error {
		c.SetHeader("Cache-Control", "max-age=3600")
		return c.SendString(fmt.Sprint("version ", version))
	})

	show(app, "GET", "/page", "")
	version = 2
	show(app, "GET", "/page", "")
	fmt.Println(pages.Purge(context.Background(), "http://example.com/page"))
	show(app, "GET", "/page", "")
	// Output:
	// 200 version 1
	// 200 version 1
	// <nil>
	// 200 version 2
}
