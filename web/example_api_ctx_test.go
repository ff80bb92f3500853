package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"net/netip"
	"strings"
	"time"

	"github.com/gallop-http/gallop/web"
)

func ExampleError_With() {
	errFull := web.NewError(409, "the room is full") // shared by all requests
	app := web.New(web.Config{})
	app.Post("/rooms/:room", func(c *web.Ctx) error { return errFull.With("room " + c.Params("room") + " is full") })
	show(app, httptest.NewRequest("POST", "/rooms/7", nil))
	fmt.Println(errors.Is(errFull.With("room 7 is full"), web.NewError(409)), errors.Is(web.NewError(404, "no such room"), web.ErrNotFound))
	// Output:
	// 409 room 7 is full
	// true true
}

func ExampleSource() {
	app := web.New(web.Config{ErrorHandler: func(c *web.Ctx, err error) {
		var wrong *web.BindError
		if errors.As(err, &wrong) && wrong.Source == web.SourcePath {
			err = web.ErrNotFound // there is nothing with such a path
		}
		web.DefaultErrorHandler(c, err)
	}})
	app.Get("/items/:id", func(c *web.Ctx) error {
		item, err := web.Bind[struct {
			ID     int       `path:"id"`
			Fields []string  `query:"fields,comma"`
			Since  time.Time `query:"since,unix"`
		}](c)
		if err != nil {
			return err
		}
		return c.SendString(fmt.Sprint(item.ID, item.Fields, item.Since.Year()))
	})
	show(app, httptest.NewRequest("GET", "/items/7?fields=name,price&since=784111777", nil))
	show(app, httptest.NewRequest("GET", "/items/seven", nil))
	// Output:
	// 200 7 [name price] 1994
	// 404 Not Found
}

func ExampleKey() {
	user := web.NewKey[string]()
	app := web.New(web.Config{})
	app.UseFunc(func(c *web.Ctx) error { return user.Set(c, "gopher").Next() })
	app.Get("/", func(c *web.Ctx) error {
		name, ok := user.Get(c)
		if !ok {
			return web.NewError(401)
		}
		return c.SendString("hello, " + name)
	})
	show(app, httptest.NewRequest("GET", "/", nil))
	// Output:
	// 200 hello, gopher
}

// perTenant renders pages of the tenant that a request belongs to.
type perTenant map[string]string

func (p perTenant) Render(ctx context.Context, w io.Writer, page web.Page) error {
	tenant := ctx.(*web.Ctx).Params("tenant")
	_, err := fmt.Fprintf(w, "%s: %s %v", p[tenant], page.Name, page.Data)
	return err
}

func ExampleViews() {
	app := web.New(web.Config{Views: perTenant{"a": "Acme"}})
	app.Get("/:tenant", func(c *web.Ctx) error { return c.RenderPage(web.Page{Name: "home", Data: 7, NoLayout: true}) })
	show(app, httptest.NewRequest("GET", "/a", nil))
	// Output:
	// 200 Acme: home 7
}

type oddOnly struct{}

func (oddOnly) Validate(ctx context.Context, v any) error {
	if o, ok := v.(*struct {
		N int `query:"n"`
	}); ok && o.N%2 == 0 {
		return web.NewError(422, "n must be odd")
	}
	return ctx.Err()
}

func ExampleValidator() {
	app := web.New(web.Config{Validator: oddOnly{}})
	app.Get("/", func(c *web.Ctx) error {
		_, err := web.Bind[struct {
			N int `query:"n"`
		}](c)
		return err
	})
	show(app, httptest.NewRequest("GET", "/?n=2", nil))
	// Output:
	// 422 n must be odd
}

func ExampleOffer() {
	asJSON := func(c *web.Ctx) error { return c.JSON("hello") }
	asText := func(c *web.Ctx) error { return c.SendString("hello") }
	app := web.New(web.Config{})
	app.Get("/", func(c *web.Ctx) error {
		return c.Format(web.Offer{MediaType: "json", Handler: asJSON}, web.Offer{MediaType: "default", Handler: asText})
	})
	request := httptest.NewRequest("GET", "/", nil)
	request.Header.Set("Accept", "image/png")
	show(app, request)
	// Output:
	// 200 hello
}

func ExampleCtx_SSEWith() {
	app := web.New(web.Config{})
	app.Get("/events", func(c *web.Ctx) error {
		return c.SSEWith(web.SSEOptions{Heartbeat: time.Minute, Retry: 5 * time.Second}, func(s *web.EventStream) error {
			return s.Send(web.Event{Data: "hello"})
		})
	})
	show(app, httptest.NewRequest("GET", "/events", nil))
	// Output:
	// 200 retry: 5000
	//
	// data: hello
}

func ExampleCtx_SendStreamSize() {
	app := web.New(web.Config{})
	app.Get("/", func(c *web.Ctx) error {
		return c.WeakETag("v7").Links(web.Link{URL: "/?page=2", Rel: "next"}).SendStreamSize(strings.NewReader("12345"), 5)
	})
	response, err := app.Test(httptest.NewRequest("GET", "/", nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.ContentLength, response.Header.Get("ETag"), response.Header.Get("Link"))
	// Output:
	// 5 W/"v7" </?page=2>; rel="next"
}

func ExampleCtx_RequestID() {
	app := web.New(web.Config{})
	app.UseFunc(func(c *web.Ctx) error { return c.SetRequestID("r-1").SetHeader("X-Request-ID", "r-1").Next() })
	app.Get("/", func(c *web.Ctx) error {
		return c.SendString(c.RequestID() + " " + c.ReqHeader("X-Device", "unknown") + " " + c.RespHeader("X-Request-ID"))
	})
	show(app, httptest.NewRequest("GET", "/", nil))
	// Output:
	// 200 r-1 unknown r-1
}

func ExampleProxyHeaders() {
	app := web.New(web.Config{
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		ProxyHeaders:   web.Forwarded,
	})
	app.Get("/", func(c *web.Ctx) error { return c.SendString(fmt.Sprint(c.Subdomains(2))) })
	request := httptest.NewRequest("GET", "/", nil)
	request.Host = "shop.eu.example.com"
	show(app, request)
	// Output:
	// 200 [shop eu]
}
