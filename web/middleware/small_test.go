package middleware_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// askFrom sends a request from a peer with an IP address.
func askFrom(app *web.App, peer, target string, fields ...string) *gallop.Response {
	var request gallop.Request
	request.SetRequestURI("http://example.com" + target)
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		request.Header.Add(name, value)
	}
	ctx := new(gallop.RequestCtx)
	ctx.Init(&request, &net.TCPAddr{IP: net.ParseIP(peer), Port: 4711}, nil)
	app.Handler()(ctx)
	return &ctx.Response
}

func TestAllowIP(t *testing.T) {
	private := middleware.AllowIP{Networks: web.PrivateNetworks()}
	proxy := web.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}}
	for _, tc := range []struct {
		name   string
		config web.Config
		allow  middleware.AllowIP
		peer   string
		field  string
		status int
	}{
		{"loopback", web.Config{}, middleware.AllowIP{}, "127.0.0.1", "", 200},
		{"loopback, IPv6", web.Config{}, middleware.AllowIP{}, "::1", "", 200},
		{"a private address", web.Config{}, middleware.AllowIP{}, "10.0.0.7", "", 403},
		{"a public address", web.Config{}, middleware.AllowIP{}, "203.0.113.5", "", 403},
		{"a private address that is allowed", web.Config{}, private, "10.0.0.7", "", 200},
		{"a public address that is not", web.Config{}, private, "203.0.113.5", "", 403},
		{"a local proxy that is not trusted", web.Config{}, middleware.AllowIP{}, "127.0.0.1", "X-Forwarded-For: 203.0.113.5", 403},
		{"a local proxy with Forwarded", web.Config{}, middleware.AllowIP{}, "127.0.0.1", "Forwarded: for=203.0.113.5", 403},
		{"a forged local address", web.Config{}, middleware.AllowIP{}, "203.0.113.5", "X-Forwarded-For: 127.0.0.1", 403},
		{"a public client of a proxy", proxy, private, "10.0.0.1", "X-Forwarded-For: 203.0.113.5", 403},
		{"a private client of a proxy", proxy, private, "10.0.0.1", "X-Forwarded-For: 10.9.9.9", 200},
		{"a forged client of a proxy", proxy, private, "10.0.0.1", "X-Forwarded-For: 10.9.9.9, 203.0.113.5", 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := web.New(tc.config)
			app.Use(tc.allow)
			app.Get("/", says("secret"))
			var fields []string
			if tc.field != "" {
				fields = []string{tc.field}
			}
			if got := askFrom(app, tc.peer, "/", fields...).StatusCode(); got != tc.status {
				t.Errorf("%d, want %d", got, tc.status)
			}
		})
	}
}

func TestRedirect(t *testing.T) {
	https := middleware.Redirect{HTTPS: true}
	trusting := []string{"X-Forwarded-Proto: https"}
	for _, tc := range []struct {
		name   string
		o      middleware.Redirect
		target string
		fields []string
		want   string // Location, or nothing
	}{
		{"https", https, "/a?b=c", nil, "https://example.com/a?b=c"},
		{"already https", https, "/a", trusting, ""},
		{"https, with a port", https, "/a", []string{"Host: example.com:8080"}, "https://example.com/a"},
		{"https on a port", middleware.Redirect{HTTPS: true, HTTPSPort: 8443}, "/a", []string{"Host: example.com:8080"}, "https://example.com:8443/a"},
		{"https for an IPv6 address", https, "/a", []string{"Host: [2001:db8::1]:80"}, "https://[2001:db8::1]/a"},
		{"host", middleware.Redirect{Host: "www.example.com"}, "/a?b", nil, "http://www.example.com/a?b"},
		{"the right host", middleware.Redirect{Host: "Example.COM"}, "/a", nil, ""},
		{"host and https", middleware.Redirect{Host: "www.example.com", HTTPS: true}, "/a", nil, "https://www.example.com/a"},
		{"host over https", middleware.Redirect{Host: "www.example.com"}, "/a", trusting, "https://www.example.com/a"},
		{"remove the slash", middleware.Redirect{Slash: middleware.RemoveSlash}, "/a/?b=/", nil, "http://example.com/a?b=/"},
		{"remove no slash", middleware.Redirect{Slash: middleware.RemoveSlash}, "/", nil, ""},
		{"remove slashes", middleware.Redirect{Slash: middleware.RemoveSlash}, "/a//", nil, "http://example.com/a"},
		{"add a slash", middleware.Redirect{Slash: middleware.AddSlash}, "/a?b", nil, "http://example.com/a/?b"},
		{"add no slash to a file", middleware.Redirect{Slash: middleware.AddSlash}, "/a.css", nil, ""},
		{"add no second slash", middleware.Redirect{Slash: middleware.AddSlash}, "/a/", nil, ""},
		{"a path like a host", middleware.Redirect{Slash: middleware.RemoveSlash}, "//evil.example/", nil, "http://example.com/evil.example"},
		{"a path like a host, with a backslash", middleware.Redirect{Slash: middleware.AddSlash}, "/%5Cevil", nil, "http://example.com/%5Cevil/"},
		{"nothing", middleware.Redirect{}, "/a/", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := web.New(web.Config{TrustedProxies: web.PrivateNetworks()})
			app.Use(tc.o)
			app.All("/{rest...}", says("here"))
			var request gallop.Request
			request.Header.SetRequestURI(tc.target)
			request.Header.SetHost("example.com")
			for _, field := range tc.fields {
				name, value, _ := strings.Cut(field, ": ")
				request.Header.Set(name, value)
			}
			ctx := new(gallop.RequestCtx)
			ctx.Init(&request, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, nil)
			app.Handler()(ctx)
			want := 308
			if tc.want == "" {
				want = 200
			}
			location := string(ctx.Response.Header.Peek("Location"))
			if location != tc.want || ctx.Response.StatusCode() != want {
				t.Errorf("%d %q, want %q", ctx.Response.StatusCode(), location, tc.want)
			}
		})
	}
	for want, o := range map[string]middleware.Redirect{
		"Status 200": {Status: 200}, "Host \"a/b\"": {Host: "a/b"}, "HTTPSPort": {HTTPSPort: 70000}, "unknown Slash": {Slash: 7},
	} {
		mustPanic(t, want, func() { o.Handler() })
	}
}

func TestFavicon(t *testing.T) {
	icon := []byte("\x89PNG\r\n\x1a\nicon")
	app := newApp(middleware.Favicon{Data: icon})
	app.Get("/", says("page"))
	app.Post("/favicon.ico", says("posted"))
	a := ask(t, app, "GET", "/favicon.ico")
	if a.status != 200 || a.body != string(icon) {
		t.Errorf("%d %q", a.status, a.body)
	}
	a.want(t, "Content-Type", "image/png")
	a.want(t, "Cache-Control", "public, max-age=31536000")
	a.want(t, "X-Content-Type-Options", "nosniff")
	if again := ask(t, app, "GET", "/favicon.ico", "If-None-Match: "+a.header.Get("ETag")); again.status != 304 {
		t.Errorf("with its tag: %d", again.status)
	}
	if a := ask(t, app, "HEAD", "/favicon.ico"); a.status != 200 || a.body != "" {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
	if a := ask(t, app, "POST", "/favicon.ico"); a.body != "posted" {
		t.Errorf("POST: %q", a.body)
	}
	if a := ask(t, app, "GET", "/"); a.body != "page" {
		t.Errorf("another path: %q", a.body)
	}
	none := newApp(middleware.Favicon{Path: "/icon", CacheControl: "no-store"})
	if a := ask(t, none, "GET", "/icon"); a.status != 204 || a.body != "" {
		t.Errorf("without an icon: %d %q", a.status, a.body)
	}
}

func TestEarlyData(t *testing.T) {
	app := newApp(middleware.EarlyData{})
	app.All("/", says("ok"))
	for _, tc := range []struct {
		method string
		fields []string
		status int
	}{
		{"GET", []string{"Early-Data: 1"}, 200},
		{"HEAD", []string{"Early-Data: 1"}, 200},
		{"POST", []string{"Early-Data: 1"}, 425},
		{"DELETE", []string{"Early-Data: 1"}, 425},
		{"POST", []string{"Early-Data: 0", "Early-Data: 1"}, 425},
		{"POST", []string{"Early-Data: 0"}, 200},
		{"POST", nil, 200},
	} {
		if a := ask(t, app, tc.method, "/", tc.fields...); a.status != tc.status {
			t.Errorf("%s %q: %d, want %d", tc.method, tc.fields, a.status, tc.status)
		}
	}
	all := newApp(middleware.EarlyData{Allow: func(*web.Ctx) bool { return false }})
	all.Get("/", says("ok"))
	if a := ask(t, all, "GET", "/", "Early-Data: 1"); a.status != 425 {
		t.Errorf("GET that is not allowed: %d", a.status)
	}
}

func TestBodyDump(t *testing.T) {
	var dumps []string
	app := newApp(middleware.BodyDump{MaxBytes: 5, Do: func(c *web.Ctx, request, response []byte) {
		dumps = append(dumps, fmt.Sprintf("%s %q %q", c.Path(), request, response))
	}})
	app.Post("/echo", func(c *web.Ctx) error { return c.Send(c.Body()) })
	app.Post("/error", func(*web.Ctx) error { return errors.New("failed") })
	app.Post("/stream", func(c *web.Ctx) error { return c.SendStream(strings.NewReader("streamed")) })
	for _, path := range []string{"/echo", "/error", "/stream"} {
		ask(t, app, "POST", path, "Body: hello, world")
	}
	ask(t, app, "POST", "/echo", "Body: hi")
	want := `/echo "hello" "hello" | /error "hello" "" | /stream "hello" "" | /echo "hi" "hi"`
	if got := strings.Join(dumps, " | "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if a := ask(t, app, "POST", "/stream", "Body: x"); a.body != "streamed" {
		t.Errorf("the stream: %q", a.body)
	}
	mustPanic(t, "needs the function Do", func() { middleware.BodyDump{}.Handler() })

	streaming := web.New(web.Config{Server: &gallop.Server{StreamRequestBody: true, Logger: newQuiet()}})
	streaming.Use(middleware.BodyDump{Do: func(_ *web.Ctx, request, _ []byte) { dumps = []string{fmt.Sprint(request == nil)} }})
	streaming.Post("/", func(c *web.Ctx) error {
		_, err := io.Copy(io.Discard, c.RequestCtx().RequestBodyStream())
		return err
	})
	if ask(t, streaming, "POST", "/", "Body: "+strings.Repeat("x", 1<<17)); dumps[0] != "true" {
		t.Error("a stream was read")
	}
}

func TestSkip(t *testing.T) {
	app := newApp(middleware.Skip{When: func(c *web.Ctx) bool { return c.Query("skip") != "" }, Use: middleware.ETag{}})
	app.Get("/", says("ok"))
	if ask(t, app, "GET", "/").header.Get("ETag") == "" {
		t.Error("no tag")
	}
	ask(t, app, "GET", "/?skip=1").want(t, "ETag", "")
	mustPanic(t, "both When and Use", func() { middleware.Skip{}.Handler() })
	mustPanic(t, "MaxRequestBodySize", func() {
		small := web.New(web.Config{Server: &gallop.Server{MaxRequestBodySize: 10}})
		small.Use(middleware.Skip{When: func(*web.Ctx) bool { return false }, Use: middleware.BodyLimit{Size: 100}})
	})
}

func BenchmarkSmall(b *testing.B) {
	for name, use := range map[string]web.Middleware{
		"AllowIP":   middleware.AllowIP{Networks: []netip.Prefix{{}}},
		"Redirect":  middleware.Redirect{Slash: middleware.RemoveSlash},
		"Favicon":   middleware.Favicon{},
		"EarlyData": middleware.EarlyData{},
		"BodyDump":  middleware.BodyDump{Do: func(*web.Ctx, []byte, []byte) {}},
		"Skip":      middleware.Skip{When: func(*web.Ctx) bool { return true }, Use: middleware.ETag{}},
	} {
		b.Run(name, func(b *testing.B) { each(b, "GET", use, hello) })
	}
}

// The pages below /debug are for clients on this machine.
func ExampleAllowIP() {
	app := web.New(web.Config{})
	debug := app.Group("/debug", middleware.AllowIP{})
	debug.Get("/vars", func(c *web.Ctx) error { return c.SendString("variables") })

	for _, peer := range []string{"127.0.0.1", "203.0.113.5"} {
		fmt.Println(askFrom(app, peer, "/debug/vars").StatusCode())
	}
	// Output:
	// 200
	// 403
}

// Clients that use another host or http are sent to https://www.example.com.
func ExampleRedirect() {
	app := web.New(web.Config{})
	app.Use(middleware.Redirect{HTTPS: true, Host: "www.example.com"})

	fmt.Println(show(app, "GET", "/a?b=c", "").Get("Location"))
	// Output:
	// 308
	// https://www.example.com/a?b=c
}

// Browsers stop asking for an icon that the site does not have.
func ExampleFavicon() {
	app := web.New(web.Config{})
	app.Use(middleware.Favicon{})

	show(app, "GET", "/favicon.ico", "")
	// Output:
	// 204
}

// A proxy marks a request that an attacker may have repeated.
func ExampleEarlyData() {
	app := web.New(web.Config{})
	app.Use(middleware.EarlyData{})
	app.Post("/orders", func(c *web.Ctx) error { return c.SendString("ordered") })

	show(app, "POST", "/orders", "", "Early-Data", "1")
	show(app, "POST", "/orders", "")
	// Output:
	// 425 Too Early
	// 200 ordered
}

// The bodies of a request and its response.
func ExampleBodyDump() {
	app := web.New(web.Config{})
	app.Use(middleware.BodyDump{Do: func(c *web.Ctx, request, response []byte) {
		fmt.Printf("%s %s: %s -> %s\n", c.Method(), c.Path(), request, response)
	}})
	app.Post("/shout", func(c *web.Ctx) error { return c.Send(bytes.ToUpper(c.Body())) })

	show(app, "POST", "/shout", "hello")
	// Output:
	// POST /shout: hello -> HELLO
	// 200 HELLO
}

// Uploads may take longer than other requests.
func ExampleSkip() {
	app := web.New(web.Config{})
	app.Use(middleware.Skip{
		When: func(c *web.Ctx) bool { return c.Is("multipart/form-data") },
		Use:  middleware.Timeout{After: time.Second},
	})
	app.Post("/", func(c *web.Ctx) error {
		_, limited := c.Deadline()
		return c.SendString(fmt.Sprint("limited: ", limited))
	})

	show(app, "POST", "/", "a=b", "Content-Type", "application/x-www-form-urlencoded")
	show(app, "POST", "/", "", "Content-Type", "multipart/form-data; boundary=b")
	// Output:
	// 200 limited: true
	// 200 limited: false
}
