package web_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/gallop-http/gallop/web"
)

// The example of the package comment, with the other steps of its tour.
func Example() {
	app := web.New(web.Config{})
	app.UseFunc(func(c *web.Ctx) error {
		err := c.Next()
		fmt.Println("request for", c.Path())
		return err
	})
	app.Get("/hello/{name}", func(c *web.Ctx) error {
		return c.SendString("hello, " + c.Params("name"))
	})
	api := app.Group("/api")
	api.Get("/items/{id<int>}", func(c *web.Ctx) error {
		id, err := web.Params[int](c, "id")
		if err != nil {
			return err
		}
		page, err := web.Query(c, "page", 1)
		if err != nil {
			return err
		}
		return c.JSON([]int{id, page})
	})

	show(app, httptest.NewRequest("GET", "/hello/gopher", nil))
	show(app, httptest.NewRequest("GET", "/api/items/7", nil))
	show(app, httptest.NewRequest("GET", "/api/items/7?page=two", nil))
	show(app, httptest.NewRequest("GET", "/api/items/seven", nil))
	// Output:
	// request for /hello/gopher
	// 200 hello, gopher
	// request for /api/items/7
	// 200 [7,1]
	// request for /api/items/7
	// 400 query "page" is not a whole number
	// request for /api/items/seven
	// 404 Not Found
}
