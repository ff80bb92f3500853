package middleware_test

import (
	"bufio"
	"html/template"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

const plainCSP = "default-src 'self'; script-src 'strict-dynamic'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func TestSecureHeaders(t *testing.T) {
	app := newApp(middleware.SecureHeaders{})
	app.Get("/", says("hello"))
	app.Get("/fail", func(*web.Ctx) error { return web.NewError(418) })
	for _, target := range []string{"/", "/none", "/fail"} {
		a := ask(t, app, "GET", target)
		for name, want := range map[string]string{
			"Content-Security-Policy": plainCSP, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "strict-origin-when-cross-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "",
			"Origin-Agent-Cluster": "?1", "X-XSS-Protection": "0", "Strict-Transport-Security": "", "Content-Security-Policy-Report-Only": "", "Cache-Control": "",
		} {
			a.want(t, name, want)
		}
	}
}

// CVE-2026-53624: the header was never sent, because of a wrong test for https. Over http it must not be sent (RFC 6797 §7.2).
func TestSecureHeadersHSTS(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	for _, tc := range []struct {
		name    string
		how     middleware.SecureHeaders
		trusted []netip.Prefix
		proto   string
		want    string
	}{
		{"https by a trusted proxy", middleware.SecureHeaders{}, proxies, "https", "max-age=63072000; includeSubDomains"},
		{"http by a trusted proxy", middleware.SecureHeaders{}, proxies, "http", ""},
		{"forged https", middleware.SecureHeaders{}, nil, "https", ""},
		{"http", middleware.SecureHeaders{}, nil, "", ""},
		{"one hour", middleware.SecureHeaders{HSTS: time.Hour, HSTSHostOnly: true}, proxies, "https", "max-age=3600"},
		{"preload", middleware.SecureHeaders{HSTSPreload: true}, proxies, "https", "max-age=63072000; includeSubDomains; preload"},
		{"off", middleware.SecureHeaders{HSTS: -1}, proxies, "https", ""},
	} {
		app := web.New(web.Config{Server: &gallop.Server{Logger: newQuiet()}, TrustedProxies: tc.trusted})
		app.Use(tc.how)
		app.Get("/", says("hello"))
		request := &gallop.RequestCtx{}
		request.Init(&gallop.Request{}, nil, nil)
		request.Request.Header.SetHost("example.com")
		request.Request.SetRequestURI("/")
		request.Request.Header.Set("X-Forwarded-For", "192.0.2.1")
		if tc.proto != "" {
			request.Request.Header.Set("X-Forwarded-Proto", tc.proto)
		}
		app.Handler()(request)
		if got := string(request.Response.Header.Peek("Strict-Transport-Security")); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	app := newApp(middleware.SecureHeaders{})
	app.Get("/", says("hello"))
	server := httptest.NewTLSServer(app)
	defer server.Close()
	response, err := server.Client().Do(get(t.Context(), server.URL))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if got := response.Header.Get("Strict-Transport-Security"); got != "max-age=63072000; includeSubDomains" {
		t.Errorf("over TLS: %q", got)
	}
}

var scriptNonce = regexp.MustCompile(`script-src 'nonce-([A-Za-z0-9+/_-]{22,})' 'strict-dynamic'`)

func TestNonce(t *testing.T) {
	page := template.Must(template.New("page").Parse(`<script nonce="{{.Nonce}}">1</script>`))
	app := newApp(middleware.SecureHeaders{}, middleware.ETag{})
	app.Get("/", func(c *web.Ctx) error {
		nonce, err := middleware.Nonce(c)
		if err != nil {
			return err
		}
		again, err := middleware.Nonce(c)
		if again != nonce || err != nil {
			t.Errorf("the second nonce is %q, %v", again, err)
		}
		c.Type("html")
		return page.Execute(c, map[string]string{"Nonce": nonce})
	})
	seen := map[string]bool{}
	for range 100 {
		a := ask(t, app, "GET", "/")
		found := scriptNonce.FindStringSubmatch(a.header.Get("Content-Security-Policy"))
		if found == nil || a.body != `<script nonce="`+found[1]+`">1</script>` {
			t.Fatalf("%q does not fit %q", a.body, a.header.Get("Content-Security-Policy"))
		}
		if seen[found[1]] {
			t.Fatal("a nonce was used twice")
		}
		seen[found[1]] = true
		a.want(t, "Cache-Control", "private, no-store")
		if b := ask(t, app, "GET", "/", "If-None-Match: "+a.header.Get("ETag")); b.status != 200 {
			t.Errorf("%d: a stored page would get a new nonce", b.status)
		}
	}
}

// A nonce that is not in the header must not be handed out, and a header without a nonce must not allow scripts.
func TestNonceThatCannotBe(t *testing.T) {
	want := func(app *web.App) {
		t.Helper()
		app.Get("/", func(c *web.Ctx) error {
			if nonce, err := middleware.Nonce(c); err == nil {
				t.Errorf("the nonce %q", nonce)
			}
			return nil
		})
		ask(t, app, "GET", "/")
	}
	want(newApp())
	want(newApp(middleware.SecureHeaders{CSP: "default-src 'self'"}))
	app := newApp(middleware.SecureHeaders{})
	app.Get("/stream", func(c *web.Ctx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) error {
			w.Flush()
			w.WriteString("x")
			w.Flush()
			if nonce, err := middleware.Nonce(c); err == nil {
				t.Errorf("in a stream: %q", nonce)
			}
			return nil
		})
	})
	ask(t, app, "GET", "/stream").want(t, "Content-Security-Policy", plainCSP)
}

func TestSecureHeadersCSP(t *testing.T) {
	for csp, want := range map[string][2]string{ // without and with a nonce; N is the nonce
		"default-src 'none'; frame-ancestors 'none'":                           {"default-src 'none'; frame-ancestors 'none'"},
		"script-src 'nonce-{nonce}'; img-src *":                                {"script-src 'none'; img-src *", "script-src 'nonce-N'; img-src *"},
		"script-src 'self' 'nonce-{nonce}'; style-src 'nonce-{nonce}' 'self';": {"script-src 'self'; style-src 'self'", "script-src 'self' 'nonce-N'; style-src 'nonce-N' 'self';"},
		"upgrade-insecure-requests; script-src 'nonce-{nonce}'":                {"upgrade-insecure-requests; script-src 'none'", "upgrade-insecure-requests; script-src 'nonce-N'"},
	} {
		for _, name := range []string{"Content-Security-Policy", "Content-Security-Policy-Report-Only"} {
			app := newApp(middleware.SecureHeaders{CSP: csp, CSPReportOnly: strings.HasSuffix(name, "Only")})
			app.Get("/", says(""))
			app.Get("/nonce", func(c *web.Ctx) error { nonce, _ := middleware.Nonce(c); return c.SendString(nonce) })
			ask(t, app, "GET", "/").want(t, name, want[0])
			if a := ask(t, app, "GET", "/nonce"); want[1] != "" {
				a.want(t, name, strings.ReplaceAll(want[1], "N", a.body))
			}
		}
	}
}

func TestSecureHeadersOwn(t *testing.T) {
	names := []string{
		"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Origin-Agent-Cluster",
		"X-XSS-Protection", "Content-Security-Policy", "Permissions-Policy",
	}
	app := newApp(middleware.SecureHeaders{Headers: map[string]string{
		"permissions-policy": "camera=()", "x-frame-options": "SAMEORIGIN", "X-XSS-PROTECTION": "", "Cross-Origin-Embedder-Policy": "require-corp",
	}})
	app.Get("/", says(""))
	app.Get("/own", func(c *web.Ctx) error {
		for _, name := range names {
			c.SetHeader(name, "mine")
		}
		return nil
	})
	a := ask(t, app, "GET", "/")
	a.want(t, "Permissions-Policy", "camera=()")
	a.want(t, "X-Frame-Options", "SAMEORIGIN")
	a.want(t, "X-XSS-Protection", "")
	a.want(t, "Cross-Origin-Embedder-Policy", "require-corp")
	a = ask(t, app, "GET", "/own")
	for _, name := range names {
		a.want(t, name, "mine") // once
	}
	for want, o := range map[string]middleware.SecureHeaders{
		"is not valid":       {Headers: map[string]string{"a b": "x"}},
		"\"X-A\": \"a\\r":    {Headers: map[string]string{"X-A": "a\r\nX-B: b"}},
		"in the field CSP":   {Headers: map[string]string{"content-security-policy": "x"}},
		"set the field HSTS": {Headers: map[string]string{"strict-transport-security": ""}},
		"HSTSPreload needs":  {HSTSPreload: true, HSTS: time.Hour},
		"HSTSPreload":        {HSTSPreload: true, HSTSHostOnly: true},
		"printable":          {CSP: "default-src 'self'\r\nX: y"},
	} {
		mustPanic(t, want, func() { o.Handler() })
	}
	mustPanic(t, "HSTSPreload", func() { middleware.SecureHeaders{HSTSPreload: true, HSTS: -1}.Handler() })
}
