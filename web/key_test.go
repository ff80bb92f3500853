package web

import (
	"context"
	"net/http"
	"testing"
)

type closing struct{ closed chan<- struct{} }

func (c closing) Close() error { c.closed <- struct{}{}; return nil }

func TestKeys(t *testing.T) {
	name, other, number, file := NewKey[string](), NewKey[string](), NewKey[int](), NewKey[closing]()
	closed := make(chan struct{})
	app := New(Config{Server: quiet()})
	app.UseFunc(func(c *Ctx) error {
		if v, ok := name.Get(c); ok || v != "" {
			t.Errorf("before Set: %q", v)
		}
		file.Set(c, closing{closed})
		return number.Set(name.Set(c, "gopher"), 7).Next()
	})
	check := func(t *testing.T, ctx context.Context) {
		t.Helper()
		if v, ok := name.Get(ctx); !ok || v != "gopher" {
			t.Errorf("%q %v", v, ok)
		}
		if v, ok := number.Get(ctx); !ok || v != 7 {
			t.Errorf("%d %v", v, ok)
		}
		if v, ok := other.Get(ctx); ok {
			t.Errorf("another key has %q", v)
		}
	}
	app.Get("/", func(c *Ctx) error {
		check(t, c)
		ctx, cancel := context.WithCancel(c)
		defer cancel()
		check(t, ctx)
		c.SetContext(context.WithoutCancel(c.Context()))
		check(t, c)
		if v, ok := name.Get(name.Set(c, "")); !ok || v != "" {
			t.Errorf("an empty value: %q %v", v, ok)
		}
		return nil
	})
	app.Get("/nethttp", FromHTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { check(t, r.Context()) })))
	for _, target := range []string{"/", "/nethttp"} {
		if status, body, _ := ask(t, app, "GET", target); status != 200 {
			t.Errorf("%s: %d %s", target, status, body)
		}
		<-closed // after the response was sent
	}
}

func TestZeroKey(t *testing.T) {
	var zero Key[int]
	app := New(Config{})
	app.Get("/", func(c *Ctx) error {
		mustPanic(t, "NewKey", func() { zero.Set(c, 1) })
		if _, ok := zero.Get(c); ok {
			t.Error("a zero key has a value")
		}
		return nil
	})
	serve(app, "/")
	if a, b := NewKey[int](), NewKey[int](); a == b {
		t.Error("two keys are one")
	}
}

// Setters return the Ctx, so that a handler can be one expression.
func TestSettersChain(t *testing.T) {
	app := New(Config{})
	app.Get("/", func(c *Ctx) error {
		return c.Status(201).Type("txt").Vary("Accept").SetLocal("a", 1).SetContext(c.Context()).ClearCookie("x").SetRequestID("7").
			ETag("t").WeakETag("u").Attachment("").Links(Link{URL: "/n", Rel: "next"}).SetHeader("X-A", "b").SendString("chained")
	})
	status, body, h := ask(t, app, "GET", "/")
	if status != 201 || body != "chained" || h.Get("ETag") != `W/"u"` || h.Get("Link") != `</n>; rel="next"` || h.Get("X-A") != "b" {
		t.Errorf("%d %s %v", status, body, h)
	}
}

// RequestID ignores X-Request-ID headers. Only SetRequestID sets the ID, so a client cannot forge it.
func TestRequestIDHasOneSource(t *testing.T) {
	app := New(Config{})
	app.Get("/", func(c *Ctx) error { return c.SendString("[" + c.RequestID() + "]") })
	app.Get("/header", func(c *Ctx) error {
		return c.SetHeader("X-Request-ID", "mine").SendString("[" + c.RequestID() + "]")
	})
	app.Get("/set", func(c *Ctx) error { return c.SetRequestID("7").SendString("[" + c.RequestID() + "]") })
	for target, want := range map[string]string{"/": "[]", "/header": "[]", "/set": "[7]"} {
		for range 2 {
			if _, body, h := ask(t, app, "GET", target, "X-Request-ID: forged"); body != want || target == "/set" && h.Get("X-Request-ID") != "" {
				t.Errorf("%s: %s %v", target, body, h)
			}
		}
	}
}
