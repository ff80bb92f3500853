package middleware_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func TestCORSOrigins(t *testing.T) {
	listed := middleware.CORS{Origins: []string{"https://good.example", "https://*.sub.example:8443", "HTTP://Localhost:3000"}, Credentials: true}
	for _, tc := range []struct {
		origin  string
		allowed bool
	}{
		{"https://good.example", true},
		{"http://localhost:3000", true},
		{"https://a.sub.example:8443", true},
		{"https://a.b.sub.example:8443", true},

		{"null", false},
		{"*", false},
		{"http://good.example", false},
		{"https://good.example:443", false},
		{"https://good.example:8443", false},
		{"https://good.example.evil.example", false},
		{"https://evil-good.example", false},
		{"https://good.example@evil.example", false},
		{"https://good.example/", false},
		{"https://GOOD.example", false},
		{"https://good.example, https://evil.example", false},
		{"https://good.example https://evil.example", false},
		{"https://sub.example:8443", false},
		{"https://.sub.example:8443", false},
		{"https://a..sub.example:8443", false},
		{"https://a..b.sub.example:8443", false},
		{"https://asub.example:8443", false},
		{"http://a.sub.example:8443", false},
		{"https://a.sub.example", false},
		{"https://evil.example/a.sub.example:8443", false},
		{"https://evil.example#a.sub.example:8443", false},
		{"https://user@a.sub.example:8443", false},
		{"https://evil.example:1.sub.example:8443", false},
		{"https://good.exampl", false},
		{"file://", false},
	} {
		t.Run(tc.origin, func(t *testing.T) {
			app := newApp(listed.Handler())
			app.Get("/", says("hello"))
			for _, a := range []answer{
				ask(t, app, "GET", "/", "Origin: "+tc.origin),
				ask(t, app, "OPTIONS", "/", "Origin: "+tc.origin, "Access-Control-Request-Method: GET"),
			} {
				origin, credentials := "", ""
				if tc.allowed {
					origin, credentials = tc.origin, "true"
				}
				a.want(t, "Access-Control-Allow-Origin", origin)
				a.want(t, "Access-Control-Allow-Credentials", credentials)
				if !strings.HasPrefix(a.header.Get("Vary"), "Origin") {
					t.Errorf("Vary: %q", a.header.Get("Vary"))
				}
				if !tc.allowed && a.status == 204 {
					a.want(t, "Access-Control-Allow-Methods", "")
				}
			}
		})
	}
}

func TestCORS(t *testing.T) {
	const origin = "Origin: https://a.example"
	app := newApp(middleware.CORS{
		Origins: []string{"https://a.example"}, Methods: []string{"GET", "PURGE"}, Headers: []string{"X-A", "X-B"}, Expose: []string{"X-Total"},
		MaxAge: 10*time.Minute + time.Millisecond,
	}.Handler())
	ran := 0
	app.Get("/", func(c *web.Ctx) error { ran++; return c.SendString("hello") })
	app.Options("/own", func(c *web.Ctx) error { return c.SendString("mine") })

	a := ask(t, app, "GET", "/")
	a.want(t, "Vary", "Origin")
	a.want(t, "Access-Control-Allow-Origin", "")

	a = ask(t, app, "GET", "/", origin)
	a.want(t, "Access-Control-Allow-Origin", "https://a.example")
	a.want(t, "Access-Control-Expose-Headers", "X-Total")
	a.want(t, "Access-Control-Allow-Methods", "")
	a.want(t, "Access-Control-Max-Age", "")

	ran = 0
	a = ask(t, app, "OPTIONS", "/anything", origin, "Access-Control-Request-Method: PURGE", "Access-Control-Request-Headers: x-evil")
	if a.status != 204 || ran != 0 {
		t.Errorf("preflight: %d, %d handlers", a.status, ran)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "https://a.example", "Access-Control-Allow-Methods": "GET, PURGE", "Access-Control-Allow-Headers": "X-A, X-B",
		"Access-Control-Max-Age": "600", "Access-Control-Allow-Credentials": "",
		"Vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
	} {
		a.want(t, name, want)
	}
	for _, fields := range [][]string{nil, {origin}, {"Access-Control-Request-Method: GET"}} { // no preflights
		if a := ask(t, app, "OPTIONS", "/own", fields...); a.body != "mine" {
			t.Errorf("OPTIONS with %q: %d %q", fields, a.status, a.body)
		}
	}
	if a := ask(t, app, "GET", "/none", origin); a.status != 404 {
		t.Error(a.status)
	} else {
		a.want(t, "Access-Control-Allow-Origin", "https://a.example") // so that the page can read what was wrong
	}
	a = ask(t, app, "GET", "/", origin, "Origin: https://b.example")
	a.want(t, "Access-Control-Allow-Origin", "")
}

func TestCORSForAnybody(t *testing.T) {
	app := newApp(middleware.CORS{}.Handler())
	app.Get("/", says("hello"))
	for _, fields := range [][]string{nil, {"Origin: https://a.example"}, {"Origin: null"}} {
		a := ask(t, app, "GET", "/", fields...)
		a.want(t, "Access-Control-Allow-Origin", "*")
		a.want(t, "Access-Control-Allow-Credentials", "")
		a.want(t, "Vary", "")
	}
	for asked, want := range map[string]string{
		"X-A, content-type": "X-A, content-type", "x-a,,x_b": "x-a, x_b", "": "", "a b": "", "a\tb": "", "x: y": "", "<b>": "", "*": "",
		strings.Repeat("a,", 63) + "a": strings.Repeat("a, ", 63) + "a", strings.Repeat("a,", 64) + "a": "", strings.Repeat(",", 5000): "",
		strings.Repeat("a", 4<<10): strings.Repeat("a", 4<<10), strings.Repeat("a", 4<<10+1): "",
	} {
		a := ask(t, app, "OPTIONS", "/", "Origin: https://a.example", "Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: "+asked)
		a.want(t, "Access-Control-Allow-Headers", want)
		a.want(t, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
		a.want(t, "Access-Control-Max-Age", "")
		a.want(t, "Access-Control-Allow-Private-Network", "")
	}
}

func TestCORSAllow(t *testing.T) {
	app := newApp(middleware.CORS{Credentials: true, MaxAge: -1, Allow: func(c *web.Ctx, origin string) bool {
		return origin == "https://"+c.Query("tenant")+".example"
	}}.Handler())
	ask(t, app, "GET", "/?tenant=a", "Origin: https://a.example").want(t, "Access-Control-Allow-Credentials", "true")
	ask(t, app, "GET", "/?tenant=b", "Origin: https://a.example").want(t, "Access-Control-Allow-Origin", "")
	ask(t, app, "OPTIONS", "/?tenant=a", "Origin: https://a.example", "Access-Control-Request-Method: GET").want(t, "Access-Control-Max-Age", "0")
}

func TestCORSRefusesWhatCannotBeMeant(t *testing.T) {
	for _, o := range []middleware.CORS{{Credentials: true}, {Credentials: true, Origins: []string{"https://a.example", "*"}}} {
		mustPanic(t, "credentials", func() { o.Handler() })
	}
	for _, origin := range []string{
		"null", "", "a.example", "https://", "https://a.example/", "https://a.example/path", "https://a.example?", "https://*", "https://*example.com",
		"https://a.*.example", "https://user@a.example", "*.example.com", "https://a.example, https://b.example", "http*://a.example", "https://*.*.example",
	} {
		mustPanic(t, "is not an origin", func() { middleware.CORS{Origins: []string{origin}}.Handler() })
	}
}
