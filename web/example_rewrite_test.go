package web_test

import (
	"fmt"
	"io"
	"net/http/httptest"

	"github.com/gallop-http/gallop/web"
)

// Old paths still work.
func ExampleApp_Rewrite() {
	app := web.New(web.Config{})
	app.Rewrite("/v1/users/{id}", "/users/{id}")
	app.Get("/users/{id}", func(c *web.Ctx) error {
		return c.SendString("user " + c.Params("id"))
	})

	response, err := app.Test(httptest.NewRequest("GET", "/v1/users/7", nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := io.ReadAll(response.Body)
	fmt.Println(string(text))
	// Output: user 7
}
