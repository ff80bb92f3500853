package middleware_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// TestCSRF tries requests of pages and programs. The app is http://example.com.
func TestCSRF(t *testing.T) {
	const cross, same = "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-origin"
	const cookie = "Cookie: session=1"
	zero, strict := middleware.CSRF{}, middleware.CSRF{Strict: true}
	trusting := middleware.CSRF{Origins: []string{"https://good.example", "https://*.sub.example:8443"}}
	for _, tc := range []struct {
		name   string
		how    middleware.CSRF
		method string
		fields []string
		passes bool
	}{
		{"page of the app", zero, "POST", []string{same, "Origin: http://example.com", cookie}, true},
		{"typed by the user", zero, "POST", []string{"Sec-Fetch-Site: none", cookie}, true},
		{"page of another site", zero, "POST", []string{cross, "Origin: https://evil.example", cookie}, false},
		{"page of another site without cookies, to log in as the attacker", zero, "POST", []string{cross, "Origin: https://evil.example"}, false},
		{"page of another host of the domain", zero, "POST", []string{"Sec-Fetch-Site: same-site", "Origin: http://evil.example.com", cookie}, false},
		{"same-site without Origin", zero, "POST", []string{"Sec-Fetch-Site: same-site", cookie}, false},
		{"cross-site, with the Origin of the app", zero, "POST", []string{cross, "Origin: http://example.com", cookie}, false},
		{"unknown value", zero, "POST", []string{"Sec-Fetch-Site: friendly", cookie}, false},
		{"other case", zero, "POST", []string{"Sec-Fetch-Site: Same-Origin", cookie}, false},
		{"two values in one line", zero, "POST", []string{"Sec-Fetch-Site: same-origin, cross-site", cookie}, false},
		{"two lines", zero, "POST", []string{same, cross, cookie}, false},
		{"two equal lines", zero, "POST", []string{same, same, cookie}, false},
		{"two Origins", zero, "POST", []string{"Origin: http://example.com", "Origin: https://evil.example", cookie}, false},

		{"old browser, page of the app", zero, "POST", []string{"Origin: http://example.com", cookie}, true},
		{"old browser, with the port", zero, "POST", []string{"Origin: http://example.com:80", cookie}, true},
		{"old browser, another site", zero, "POST", []string{"Origin: https://evil.example", cookie}, false},
		{"old browser, https page of the same host, CVE-2025-47909", zero, "POST", []string{"Origin: https://example.com", cookie}, false},
		{"old browser, another port", zero, "POST", []string{"Origin: http://example.com:8080", cookie}, false},
		{"old browser, port of the other scheme", zero, "POST", []string{"Origin: http://example.com:443", cookie}, false},
		{"sandboxed frame", zero, "POST", []string{"Origin: null", cookie}, false},
		{"host in the user part", zero, "POST", []string{"Origin: http://example.com@evil.example", cookie}, false},
		{"host as a prefix", zero, "POST", []string{"Origin: http://example.com.evil.example", cookie}, false},
		{"host as a suffix", zero, "POST", []string{"Origin: http://evilexample.com", cookie}, false},
		{"host in the path", zero, "POST", []string{"Origin: http://evil.example/http://example.com", cookie}, false},
		{"no scheme", zero, "POST", []string{"Origin: example.com", cookie}, false},
		{"scheme without a host", zero, "POST", []string{"Origin: http://", cookie}, false},
		{"scheme as a prefix", zero, "POST", []string{"Origin: httpx://example.com", cookie}, false},
		{"path", zero, "POST", []string{"Origin: http://example.com/", cookie}, false},

		{"curl", zero, "POST", []string{cookie}, true},
		{"curl, strict", strict, "POST", []string{cookie}, false},
		{"curl without credentials, strict", strict, "POST", nil, true},
		{"program with a token, strict", strict, "POST", []string{"Authorization: Bearer x"}, true},
		{"program with a password, strict", strict, "POST", []string{"Authorization: Basic eDp5"}, false},
		{"program with a token and cookies, strict", strict, "POST", []string{"Authorization: Bearer x", cookie}, false},
		{"page of the app, strict", strict, "POST", []string{same, cookie}, true},
		{"old browser, strict", strict, "POST", []string{"Origin: http://example.com", cookie}, true},
		{"empty Origin, strict", strict, "POST", []string{"Origin: ", cookie}, false},

		{"trusted origin", trusting, "POST", []string{cross, "Origin: https://good.example", cookie}, true},
		{"trusted origin, old browser", trusting, "POST", []string{"Origin: https://good.example", cookie}, true},
		{"trusted subdomain", trusting, "POST", []string{cross, "Origin: https://a.b.sub.example:8443", cookie}, true},
		{"trusted host over http", trusting, "POST", []string{cross, "Origin: http://good.example", cookie}, false},
		{"trusted host, other port", trusting, "POST", []string{cross, "Origin: https://good.example:8443", cookie}, false},
		{"trusted host as a prefix", trusting, "POST", []string{cross, "Origin: https://good.example.evil.example", cookie}, false},
		{"the domain of trusted subdomains", trusting, "POST", []string{cross, "Origin: https://sub.example:8443", cookie}, false},
		{"suffix of a trusted subdomain", trusting, "POST", []string{cross, "Origin: https://evilsub.example:8443", cookie}, false},
		{"trusted subdomain in a path", trusting, "POST", []string{cross, "Origin: https://evil.example/a.sub.example:8443", cookie}, false},
		{"no Origin where some are trusted", trusting, "POST", []string{cross, cookie}, false},

		{"GET", zero, "GET", []string{cross, cookie}, true},
		{"HEAD", zero, "HEAD", []string{cross, cookie}, true},
		{"OPTIONS", zero, "OPTIONS", []string{cross, cookie}, true},
		{"PUT", zero, "PUT", []string{cross, cookie}, false},
		{"DELETE", zero, "DELETE", []string{cross, cookie}, false},
		{"QUERY", zero, "QUERY", []string{cross, cookie}, false},
		{"own method", zero, "PURGE", []string{cross, cookie}, false},
		{"method in lower case", zero, "get", []string{cross, cookie}, false},
		{"method override", zero, "GET", []string{cross, cookie, "X-HTTP-Method-Override: DELETE"}, true},
		{"WebSocket of another site", zero, "GET", []string{"Upgrade: websocket", "Connection: Upgrade", "Origin: https://evil.example", cookie}, false},
		{"WebSocket of another site, new browser", zero, "GET", []string{"Upgrade: websocket", "Connection: Upgrade", cross, cookie}, false},
		{"WebSocket of the app", zero, "GET", []string{"Upgrade: websocket", "Connection: Upgrade", "Origin: http://example.com", cookie}, true},
		{"JSON sent as text", zero, "POST", []string{cross, cookie, "Content-Type: text/plain", `Body: {"a":1}`}, false},
		{"JSON", zero, "POST", []string{cross, cookie, "Content-Type: application/json", `Body: {"a":1}`}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := newApp(tc.how)
			ran := false
			app.All("/{rest...}", func(c *web.Ctx) error { ran = true; return nil })
			a := ask(t, app, tc.method, "/transfer", tc.fields...)
			if passed := a.status != 403; passed != tc.passes || ran != tc.passes {
				t.Errorf("%d %q, the handler ran: %t", a.status, a.body, ran)
			}
		})
	}
}

// Paths cannot be exempt, so no spelling of a path is: CVE-2025-47910.
func TestCSRFHasNoExemptPaths(t *testing.T) {
	app := newApp()
	app.Post("/hook/", says("open"))
	protected := app.Group("", middleware.CSRF{})
	protected.Post("/transfer", says("done"))
	for _, target := range []string{"/transfer", "//transfer", "/hook/../transfer", "/hook/%2e%2e/transfer", "/./transfer", "/hook//../transfer"} {
		if a := ask(t, app, "POST", target, "Sec-Fetch-Site: cross-site"); a.body == "done" {
			t.Errorf("%s: %d %q", target, a.status, a.body)
		}
	}
	if a := ask(t, app, "POST", "/hook/", "Sec-Fetch-Site: cross-site"); a.body != "open" {
		t.Errorf("the route outside the group: %d", a.status)
	}
}

// Behind a proxy, the outer scheme and host count, but only if the proxy is trusted. On a server, the URL has no scheme, and checks
// that compared with the URL never ran: CVE-2025-24358.
func TestCSRFBehindProxies(t *testing.T) {
	for _, tc := range []struct {
		name, origin string
		trusted      bool
		status       int
	}{
		{"outer origin", "https://shop.example", true, 200},
		{"inner origin", "http://inner.example", true, 403},
		{"outer host over http", "http://shop.example", true, 403},
		{"forged headers", "https://shop.example", false, 403},
		{"inner origin without proxies", "http://inner.example", false, 200},
	} {
		config := web.Config{Server: &gallop.Server{Logger: newQuiet()}}
		if tc.trusted {
			config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
		}
		app := web.New(config)
		app.Use(middleware.CSRF{})
		app.Post("/", says("done"))
		request := &gallop.RequestCtx{}
		request.Init(&gallop.Request{}, nil, nil) // 0.0.0.0
		h := &request.Request.Header
		h.SetMethod("POST")
		h.SetHost("inner.example")
		request.Request.SetRequestURI("/")
		h.Set("X-Forwarded-Proto", "https")
		h.Set("X-Forwarded-Host", "shop.example")
		h.Set("X-Forwarded-For", "192.0.2.1")
		h.Set("Origin", tc.origin)
		if app.Handler()(request); request.Response.StatusCode() != tc.status {
			t.Errorf("%s: %d, want %d", tc.name, request.Response.StatusCode(), tc.status)
		}
	}
}

// tokenApp is an app whose pages have tokens.
func tokenApp(o middleware.CSRF) *web.App {
	app := newApp(o)
	app.Get("/form", func(c *web.Ctx) error {
		token, err := middleware.CSRFToken(c)
		if err != nil {
			return err
		}
		return c.SendString(token)
	})
	app.Post("/send", func(c *web.Ctx) error { return c.SendString("sent " + c.FormValue("text")) })
	return app
}

const csrfCookie = "__Host-csrf"

func TestCSRFTokens(t *testing.T) {
	key := []byte(strings.Repeat("k", 32))
	app := tokenApp(middleware.CSRF{TokenKey: key})
	form := ask(t, app, "GET", "/form")
	secret, set := cookieOf(form.header, csrfCookie)
	cookie := strings.ToLower(form.header.Get("Set-Cookie"))
	if !set || !strings.Contains(cookie, "httponly") || !strings.Contains(cookie, "secure") || !strings.Contains(cookie, "samesite=lax") {
		t.Errorf("Set-Cookie: %q", form.header.Get("Set-Cookie"))
	}
	form.want(t, "Cache-Control", "private, no-store")
	token := form.body
	own := "Cookie: " + csrfCookie + "=" + secret

	again := ask(t, app, "GET", "/form", own)
	if again.header.Get("Set-Cookie") != "" || again.body == token {
		t.Errorf("Set-Cookie: %q; the token is masked anew: %t", again.header.Get("Set-Cookie"), again.body != token)
	}
	other := ask(t, app, "GET", "/form")
	otherSecret, _ := cookieOf(other.header, csrfCookie)
	other2 := ask(t, tokenApp(middleware.CSRF{TokenKey: []byte(strings.Repeat("x", 32))}), "GET", "/form", own)

	flipped := []byte(token)
	flipped[len(flipped)/2+10] ^= 1
	for _, tc := range []struct {
		name   string
		fields []string
		passes bool
	}{
		{"header", []string{own, "X-CSRF-Token: " + token}, true},
		{"form", []string{own, "Content-Type: application/x-www-form-urlencoded", "Body: text=hi&csrf_token=" + token}, true},
		{"second token", []string{own, "X-CSRF-Token: " + again.body}, true},
		{"no token", []string{own}, false},
		{"no cookie", []string{"X-CSRF-Token: " + token}, false},
		{"empty token", []string{own, "X-CSRF-Token: "}, false},
		{"token in the query", []string{own, "Content-Type: application/x-www-form-urlencoded", "Body: text=hi"}, false},
		{"the cookie itself", []string{own, "X-CSRF-Token: " + secret}, false},
		{"the cookie twice", []string{own, "X-CSRF-Token: " + secret + secret}, false},
		{"zeros", []string{own, "X-CSRF-Token: " + strings.Repeat("A", 86)}, false},
		{"token of another visitor, CVE-2023-45128", []string{own, "X-CSRF-Token: " + other.body}, false},
		{"planted cookie, own token", []string{"Cookie: " + csrfCookie + "=" + otherSecret, "X-CSRF-Token: " + token}, false},
		{"token under another key", []string{own, "X-CSRF-Token: " + other2.body}, false},
		{"changed token", []string{own, "X-CSRF-Token: " + string(flipped)}, false},
		{"longer token", []string{own, "X-CSRF-Token: " + token + "A"}, false},
		{"shorter token", []string{own, "X-CSRF-Token: " + token[:85]}, false},
		{"padded token", []string{own, "X-CSRF-Token: " + token + "=="}, false},
		{"a valid token, but another site", []string{own, "X-CSRF-Token: " + token, "Sec-Fetch-Site: cross-site"}, false},
		{"a valid token, but another Origin", []string{own, "X-CSRF-Token: " + token, "Origin: https://evil.example"}, false},
		{"no token is needed by new browsers", []string{"Sec-Fetch-Site: same-origin"}, true},
		{"JSON with the token in the body", []string{own, "Content-Type: application/json", `Body: {"csrf_token":"` + token + `"}`}, false},
	} {
		if a := ask(t, app, "POST", "/send?csrf_token="+token, tc.fields...); (a.status == 200) != tc.passes {
			t.Errorf("%s: %d %q", tc.name, a.status, a.body)
		}
	}

	// An attacker plants the own cookie in the victim's browser, and sends the own token: Bind ties tokens to users.
	bound := middleware.CSRF{TokenKey: key, Bind: func(c *web.Ctx) (string, error) { return c.ReqHeader("X-User"), nil }}
	app = tokenApp(bound)
	form = ask(t, app, "GET", "/form", "X-User: attacker")
	secret, _ = cookieOf(form.header, csrfCookie)
	planted := []string{"Cookie: " + csrfCookie + "=" + secret, "X-CSRF-Token: " + form.body}
	if a := ask(t, app, "POST", "/send", append(planted, "X-User: attacker")...); a.status != 200 {
		t.Errorf("the user's own token: %d", a.status)
	}
	if a := ask(t, app, "POST", "/send", append(planted, "X-User: victim")...); a.status != 403 {
		t.Errorf("a planted cookie with a valid token: %d", a.status)
	}
}

func TestCSRFSettings(t *testing.T) {
	for _, origin := range []string{"null", "", "a.example", "https://", "https://a.example/", "https://*", "https://*example.com", "https://a.*.example", "*"} {
		mustPanic(t, "is not an origin", func() { middleware.CSRF{Origins: []string{origin}}.Handler() })
	}
	mustPanic(t, "at least 32", func() { middleware.CSRF{TokenKey: make([]byte, 31)}.Handler() })
	mustPanic(t, "at least 32", func() { middleware.CSRF{TokenKey: []byte{}}.Handler() })
	mustPanic(t, "set TokenKey", func() { middleware.CSRF{Insecure: true}.Handler() })
	mustPanic(t, "set TokenKey", func() { middleware.CSRF{Bind: func(*web.Ctx) (string, error) { return "", nil }}.Handler() })

	app := newApp(middleware.CSRF{})
	app.Get("/", func(c *web.Ctx) error {
		if _, err := middleware.CSRFToken(c); err == nil || !strings.Contains(err.Error(), "TokenKey") {
			t.Error(err)
		}
		return nil
	})
	ask(t, app, "GET", "/")

	app = tokenApp(middleware.CSRF{TokenKey: make([]byte, 32), Insecure: true})
	if a := ask(t, app, "GET", "/form"); strings.Contains(strings.ToLower(a.header.Get("Set-Cookie")), "secure") || !strings.HasPrefix(a.header.Get("Set-Cookie"), "csrf=") {
		t.Errorf("Set-Cookie: %q", a.header.Get("Set-Cookie"))
	}
}

// Two tokens of one request belong to the one cookie that it sets.
func TestCSRFTokensOfOneRequest(t *testing.T) {
	app := tokenApp(middleware.CSRF{TokenKey: make([]byte, 32)})
	app.Get("/two", func(c *web.Ctx) error {
		one, err1 := middleware.CSRFToken(c)
		two, err2 := middleware.CSRFToken(c)
		if err1 != nil || err2 != nil {
			t.Error(err1, err2)
		}
		return c.SendString(one + " " + two)
	})
	a := ask(t, app, "GET", "/two")
	secret, _ := cookieOf(a.header, csrfCookie)
	if n := len((&http.Response{Header: a.header}).Cookies()); n != 1 {
		t.Errorf("%d cookies", n)
	}
	for token := range strings.FieldsSeq(a.body) {
		if a := ask(t, app, "POST", "/send", "Cookie: "+csrfCookie+"="+secret, "X-CSRF-Token: "+token); a.status != 200 {
			t.Errorf("%d %q", a.status, a.body)
		}
	}
}
