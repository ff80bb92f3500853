package middleware_test

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func TestRequestID(t *testing.T) {
	for _, tc := range []struct {
		name, sent string
		kept       bool
	}{
		{"none", "", false},
		{"a uuid", "123e4567-e89b-12d3-a456-426614174000", true},
		{"all that is allowed", "azAZ09-_.=+/:@", true},
		{"128 characters", strings.Repeat("x", 128), true},
		{"129 characters", strings.Repeat("x", 129), false},
		{"a space", "a b", false},
		{"quotes", `a"b`, false},
		{"a tab", "a\tb", false},
		{"markup", "<script>", false},
		{"beyond ASCII", "ä", false},
		{"an escape", "a%0Ab", false},
		{"a list", "a,b", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := newApp(middleware.RequestID{New: func() string { return "new" }}.Handler())
			app.Get("/", func(c *web.Ctx) error { return c.SendString(c.RequestID()) })
			var fields []string
			want := "new"
			if tc.sent != "" {
				fields = []string{"X-Request-Id: " + tc.sent}
			}
			if tc.kept {
				want = tc.sent
			}
			a := ask(t, app, "GET", "/", fields...)
			a.want(t, "X-Request-Id", want)
			if a.body != want {
				t.Errorf("ID is %q, want %q", a.body, want)
			}
		})
	}
}

func TestRequestIDSettings(t *testing.T) {
	app := newApp(middleware.RequestID{Header: "X-Trace", IgnoreClient: true}.Handler())
	app.Get("/", says(""))
	one, two := ask(t, app, "GET", "/", "X-Trace: mine"), ask(t, app, "GET", "/missing", "X-Trace: mine")
	a, b := one.header.Get("X-Trace"), two.header.Get("X-Trace")
	if len(a) < 22 || len(b) < 22 || a == b {
		t.Errorf("%q and %q", a, b)
	}
	if app := newApp(); true {
		app.Get("/", func(c *web.Ctx) error { return c.SendString("[" + c.RequestID() + "]") })
		if a := ask(t, app, "GET", "/"); a.body != "[]" {
			t.Errorf("without the middleware: %s", a.body)
		}
	}
}
