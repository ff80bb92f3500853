package packages_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/rest"
	"github.com/gallop-http/gallop/test/internal/servertest"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// One check of an error is enough, whichever package the error comes from.
func TestErrorsAcrossPackages(t *testing.T) {
	if !errors.Is(rest.ErrBodyTooLarge, gallop.ErrBodyTooLarge) {
		t.Error("rest.ErrBodyTooLarge is not gallop.ErrBodyTooLarge")
	}
	var failed error
	app := web.New(web.Config{ErrorHandler: func(_ *web.Ctx, err error) { failed = err }})
	app.Get("/panic", middleware.Recover{OnPanic: func(*web.Ctx, *gallop.PanicError) {}}.Handler(), func(*web.Ctx) error { panic("x") })
	app.Post("/large", middleware.BodyLimit{Size: 1}.Handler(), func(*web.Ctx) error { return nil })

	var panicked *gallop.PanicError
	if _, err := app.Test(httptest.NewRequest("GET", "/panic", nil)); err != nil || !errors.As(failed, &panicked) || panicked.Value != "x" {
		t.Errorf("Recover: %v, %v", failed, err)
	}
	for range 2 { // an error handler that changes the error does so for one request
		_, err := app.Test(httptest.NewRequest("POST", "/large", strings.NewReader("ab")))
		var refused *web.Error
		if err != nil || !errors.Is(failed, gallop.ErrBodyTooLarge) || !errors.As(failed, &refused) || refused.Message != gallop.StatusMessage(413) {
			t.Fatalf("BodyLimit: %v, %v", failed, err)
		}
		refused.Message = "changed"
	}
}

func TestHTTPStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		err  interface{ HTTPStatus() int }
		want int
	}{
		"ParseError":         {&gallop.ParseError{StatusCode: 431}, 431},
		"ProxyError":         {&gallop.ProxyError{StatusCode: 407}, 407},
		"of a SOCKS proxy":   {&gallop.ProxyError{Err: io.EOF}, 0},
		"web.Error":          {web.NewError(409), 409},
		"web.ErrNotFound":    {web.ErrNotFound.(interface{ HTTPStatus() int }), 404},
		"rest.APIError":      {&rest.APIError{StatusCode: 418}, 418},
		"rest.RedirectError": {&rest.RedirectError{StatusCode: 302}, 302},
		"rest.RequestError":  {&rest.RequestError{Err: &gallop.ProxyError{StatusCode: 407}}, 0},
		"rest.DecodeError":   {&rest.DecodeError{Err: &gallop.ParseError{StatusCode: 400}}, 0},
	} {
		if got := tc.err.HTTPStatus(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	if got := rest.StatusOf(fmt.Errorf("user 7: %w", web.ErrNotFound)); got != 404 {
		t.Errorf("StatusOf(web.ErrNotFound): %d", got)
	}
}

// The status of another server reaches a client only if the handler says so.
func TestWebDoesNotPassStatusesOn(t *testing.T) {
	synctest.Test(t, testWebDoesNotPassStatusesOn) // rest waits before it tries again after a 503
}

func testWebDoesNotPassStatusesOn(t *testing.T) {
	client, url := galloptest.Serve(t, func(ctx *gallop.RequestCtx) { ctx.Error("secret", ctx.QueryArgs().GetUintOrZero("status")) })
	api, err := rest.New(url, rest.WithClient(client))
	if err != nil {
		t.Fatal(err)
	}
	call := func(c *web.Ctx) error {
		return rest.Delete(c.Context(), api, "user", rest.SetQuery("status", c.Query("status")))
	}
	app := web.New(web.Config{Server: &gallop.Server{Logger: servertest.Quiet}})
	app.Get("/careless", call)
	app.Get("/wrapped", func(c *web.Ctx) error { return fmt.Errorf("user: %w", call(c)) })
	app.Get("/parse", func(*web.Ctx) error { return &gallop.ParseError{StatusCode: 400, Reason: "secret"} })
	app.Get("/proxy", func(*web.Ctx) error { return &gallop.ProxyError{StatusCode: 407} })
	app.Get("/mapped", func(c *web.Ctx) error {
		err := call(c)
		if rest.StatusOf(err) == 404 {
			return &web.Error{Status: 404, Err: err}
		}
		return &web.Error{Status: 502, Err: err}
	})
	for target, want := range map[string]int{
		"/careless?status=401": 500, "/careless?status=404": 500, "/careless?status=503": 500, "/wrapped?status=403": 500,
		"/parse": 500, "/proxy": 500, "/mapped?status=404": 404, "/mapped?status=401": 502,
	} {
		response, err := app.Test(httptest.NewRequest("GET", target, nil))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != want || string(body) != http.StatusText(want) {
			t.Errorf("%s: %d %q, want %d", target, response.StatusCode, body, want)
		}
	}
}
