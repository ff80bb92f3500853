package middleware_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func ExampleProxy() {
	users := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, r.Method, r.RequestURI, "for", r.Header.Get("X-User"))
	}))
	defer users.Close()

	app := web.New(web.Config{})
	app.All("/api/{path...}", middleware.Proxy{
		Targets:     []string{users.URL},
		StripPrefix: "/api",
		ModifyRequest: func(c *web.Ctx, to *gallop.Request) error {
			to.Header.Set("X-User", "ann")
			return nil
		},
	}.Handler())

	show(app, "GET", "/api/users/7?full=1", "")
	show(app, "GET", "/api/%2e%2e/admin", "")
	// Output:
	// 200 GET /users/7?full=1 for ann
	// 404 Not Found
}

func ExampleProxyError() {
	app := web.New(web.Config{ErrorHandler: func(c *web.Ctx, err error) {
		var failed *middleware.ProxyError
		if errors.As(err, &failed) {
			fmt.Println("the target did not respond to", failed.Method, failed.Path)
		}
		web.DefaultErrorHandler(c, err)
	}})
	app.All("/{path...}", middleware.Proxy{Targets: []string{"http://127.0.0.1:1"}}.Handler())

	show(app, "GET", "/users", "")
	// Output:
	// the target did not respond to GET /users
	// 502 Bad Gateway
}

// A user gives the URL of a webhook. The server must not send requests to machines that only it can reach.
func ExamplePublicDialer() {
	client := &gallop.Client{DialContext: middleware.PublicDialer{}.DialContext}
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	for _, url := range []string{"http://127.0.0.1/", "http://169.254.169.254/latest/meta-data/"} {
		req.SetRequestURI(url)
		err := client.Do(req, resp)
		fmt.Println(errors.Is(err, middleware.ErrNotPublic))
	}
	// Output:
	// true
	// true
}
