package middleware_test

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func TestBodyLimit(t *testing.T) {
	for _, stream := range []bool{false, true} {
		app := web.New(web.Config{Server: &gallop.Server{StreamRequestBody: stream, Logger: newQuiet()}})
		app.Use(middleware.BodyLimit{Size: 10}.Handler())
		app.Post("/whole", func(c *web.Ctx) error { return c.SendString("got " + string(c.Body())) })
		app.Post("/careless", func(c *web.Ctx) error { // does not look at errors
			if r := c.RequestCtx().RequestBodyStream(); r != nil {
				io.Copy(io.Discard, r)
			}
			return c.SendString("fine")
		})
		app.Post("/form", func(c *web.Ctx) error { return c.SendString(string(c.RequestCtx().FormValue("a"))) })
		app.Post("/careful", func(c *web.Ctx) error {
			if r := c.RequestCtx().RequestBodyStream(); r != nil {
				text, err := io.ReadAll(r)
				if err != nil {
					if !errors.Is(err, gallop.ErrBodyTooLarge) || len(text) != 10 {
						t.Errorf("%d bytes and %v", len(text), err)
					}
					return err
				}
			}
			return c.SendString("fine")
		})
		for _, tc := range []struct {
			target, body string
			chunked      bool
			status       int
		}{
			{"/whole", "", false, 200},
			{"/whole", "0123456789", false, 200},
			{"/whole", "0123456789", true, 200},
			{"/whole", "0123456789x", false, 413},
			{"/whole", "0123456789x", true, 413},
			{"/whole", strings.Repeat("x", 100_000), false, 413},
			{"/whole", strings.Repeat("x", 100_000), true, 413},
			{"/careless", "0123456789", true, 200},
			{"/careless", "0123456789x", true, 413},
			{"/careful", strings.Repeat("x", 100_000), true, 413},
			{"/careful", "0123456789", true, 200},
			{"/form", "a=" + strings.Repeat("x", 100), true, 413},
		} {
			var body io.Reader = strings.NewReader(tc.body)
			if tc.chunked {
				body = struct{ io.Reader }{body}
			}
			request, err := http.NewRequestWithContext(t.Context(), "POST", tc.target, body)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			a := send(t, app, request)
			if a.status != tc.status {
				t.Errorf("stream %t: %s with %d bytes, chunked %t: %d, want %d", stream, tc.target, len(tc.body), tc.chunked, a.status, tc.status)
			}
			if tc.target == "/whole" && tc.status == 200 && a.body != "got "+tc.body {
				t.Errorf("%q", a.body)
			}
		}
	}
}

func TestBodyLimitDefaults(t *testing.T) {
	for _, tc := range []struct {
		limit  middleware.BodyLimit
		size   int
		status int
	}{
		{middleware.BodyLimit{}, 1 << 20, 200}, {middleware.BodyLimit{}, 1<<20 + 1, 413},
		{middleware.BodyLimit{Size: -1}, 0, 200}, {middleware.BodyLimit{Size: -1}, 1, 413},
	} {
		app := newApp(tc.limit.Handler())
		app.Post("/", says(""))
		if a := ask(t, app, "POST", "/", "Body: "+strings.Repeat("x", tc.size)); a.status != tc.status {
			t.Errorf("%+v: %d bytes: %d", tc.limit, tc.size, a.status)
		}
	}
}

// A limit as large as there can be is one that no body exceeds.
func TestBodyLimitOfAnySize(t *testing.T) {
	app := web.New(web.Config{Server: &gallop.Server{StreamRequestBody: true, Logger: newQuiet()}})
	app.Use(middleware.BodyLimit{Size: math.MaxInt64}.Handler())
	app.Post("/", func(c *web.Ctx) error { return c.Send(c.Body()) })
	request, err := http.NewRequestWithContext(t.Context(), "POST", "/", struct{ io.Reader }{strings.NewReader("body")})
	if err != nil {
		t.Fatal(err)
	}
	if a := send(t, app, request); a.status != 200 || a.body != "body" {
		t.Errorf("%d %q", a.status, a.body)
	}
}

// The server's limit still holds for handlers that read the whole body into memory, even if BodyLimit allows longer
// streams.
func TestBodyLimitLeavesTheServersLimit(t *testing.T) {
	app := web.New(web.Config{Server: &gallop.Server{StreamRequestBody: true, MaxRequestBodySize: 1000, Logger: newQuiet()}})
	limit := middleware.BodyLimit{Size: 1 << 20}.Handler()
	app.Use(limit, limit)
	app.Post("/whole", func(c *web.Ctx) error {
		var v struct{ A string }
		return c.Bind().JSON(&v)
	})
	app.Post("/stream", func(c *web.Ctx) error {
		_, err := io.Copy(io.Discard, c.RequestCtx().RequestBodyStream())
		return err
	})
	for _, tc := range []struct {
		target       string
		size, status int
	}{{"/whole", 500, 200}, {"/whole", 5000, 413}, {"/stream", 5000, 200}, {"/stream", 2 << 20, 413}} {
		body := strings.NewReader(`{"A":"` + strings.Repeat("x", tc.size) + `"}`)
		request, err := http.NewRequestWithContext(t.Context(), "POST", tc.target, struct{ io.Reader }{body})
		if err != nil {
			t.Fatal(err)
		}
		if a := send(t, app, request); a.status != tc.status {
			t.Errorf("%s of %d bytes: %d, want %d", tc.target, tc.size, a.status, tc.status)
		}
	}
}
