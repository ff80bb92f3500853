package middleware_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func ExampleRequestID() {
	app := web.New(web.Config{})
	app.Use(middleware.RequestID{New: func() string { return "new" }}.Handler())
	app.Get("/", func(c *web.Ctx) error { return c.SendString(c.RequestID()) })
	for _, sent := range []string{"", "req-7", "<script>"} {
		request := httptest.NewRequest("GET", "/", nil)
		request.Header.Set("X-Request-ID", sent)
		response, err := app.Test(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q is %q\n", sent, response.Header.Get("X-Request-ID"))
	}
	// Output:
	// "" is "new"
	// "req-7" is "req-7"
	// "<script>" is "new"
}
