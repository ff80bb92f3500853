package middleware_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// askHost sends a request with a Host header that a client library would not send.
func askHost(app *web.App, host string, fields ...string) (status int, body string) {
	request := &gallop.RequestCtx{}
	request.Init(&gallop.Request{}, nil, nil)
	request.Request.SetRequestURI("/")
	request.Request.Header.SetHost(host)
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		request.Request.Header.Set(name, value)
	}
	app.Handler()(request)
	return request.Response.StatusCode(), string(request.Response.Body())
}

func TestHostAllow(t *testing.T) {
	for name, hosts := range map[string]struct {
		how             middleware.HostAllow
		allowed, denied []string
	}{
		"listed": {
			middleware.HostAllow{Hosts: []string{"Example.com", "*.sub.example.", "192.0.2.1", "[2001:db8::1]", "xn--bcher-kva.example"}},
			[]string{
				"example.com", "EXAMPLE.COM", "example.com:8080", "example.com.", "example.com.:443", "a.sub.example", "A.B.sub.example:1", "192.0.2.1", "192.0.2.1:80",
				"[2001:db8::1]", "[2001:DB8:0::1]:80", "xn--bcher-kva.example",
			},
			[]string{
				"evil.example", "www.example.com", "example.com.evil.example", "evilexample.com", "example.comevil", "example.com..", "sub.example", ".sub.example", "a..sub.example",
				"asub.example", "evil/.sub.example", "evil#.sub.example", "evil?.sub.example", "evil@a.sub.example", "evil:80.sub.example", "a b.sub.example", "example.com@evil.example",
				"evil.example:example.com", "192.0.2.2", "[2001:db8::2]", "[::ffff:192.0.2.1", "2001:db8::1", "localhost", "127.0.0.1", "[::1]", "bücher.example", "", ".", ":80", "*", "*.sub.example", "0x7f.1",
			},
		},
		"the zero value": {
			middleware.HostAllow{},
			[]string{"localhost", "LOCALHOST:3000", "localhost.", "a.localhost", "127.0.0.1:8080", "127.1.2.3", "[::1]:8080", "[::ffff:127.0.0.1]"},
			[]string{ // names that an attacker can point at 127.0.0.1, and other spellings of it
				"evil.example", "localhost.evil.example", "evillocalhost", "127.0.0.1.nip.io", "0.0.0.0", "192.168.0.1", "[::]", "[fe80::1%25lo]", "2130706433", "0x7f000001", "127.1", "0177.0.0.1", "", ".localhost", "a..localhost", "example.com",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := newApp(hosts.how)
			app.Get("/", says("hello"))
			for _, host := range hosts.allowed {
				if status, body := askHost(app, host); status != 200 || body != "hello" {
					t.Errorf("%q: %d %q", host, status, body)
				}
			}
			for _, host := range hosts.denied {
				if status, body := askHost(app, host); status != 421 || strings.Contains(body, "hello") {
					t.Errorf("%q: %d %q", host, status, body)
				}
			}
		})
	}
}

func TestHostAllowFunc(t *testing.T) {
	var asked []string
	app := newApp(middleware.HostAllow{Hosts: []string{"example.com"}, Status: 403, Allow: func(_ *web.Ctx, host string) bool {
		asked = append(asked, host)
		return host == "tenant.example"
	}})
	app.Get("/", says("hello"))
	for host, want := range map[string]int{"example.com": 200, "Tenant.example:80": 200, "evil.example": 403, "": 403} {
		if status, _ := askHost(app, host); status != want {
			t.Errorf("%q: %d, want %d", host, status, want)
		}
	}
	if len(asked) != 3 {
		t.Errorf("asked for %q", asked)
	}
	app = newApp(middleware.HostAllow{Allow: func(*web.Ctx, string) bool { return false }})
	if status, _ := askHost(app, "localhost"); status != 421 {
		t.Errorf("localhost is allowed although Allow is set: %d", status)
	}
}

// A client cannot choose the host that is compared, unless a proxy is trusted to report it.
func TestHostAllowBehindProxies(t *testing.T) {
	for _, tc := range []struct {
		host, forwarded string
		trusted         bool
		status          int
	}{
		{"evil.example", "example.com", false, 421},
		{"example.com", "evil.example", false, 200},
		{"inner.example", "example.com", true, 200},
		{"example.com", "evil.example", true, 421},
	} {
		config := web.Config{Server: &gallop.Server{Logger: newQuiet()}}
		if tc.trusted {
			config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
		}
		app := web.New(config)
		app.Use(middleware.HostAllow{Hosts: []string{"example.com"}})
		app.Get("/", says("hello"))
		status, _ := askHost(app, tc.host, "X-Forwarded-Host: "+tc.forwarded, "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https", "X-Original-Host: example.com", "Forwarded: host=example.com")
		if status != tc.status {
			t.Errorf("Host %s, X-Forwarded-Host %s, trusted %t: %d", tc.host, tc.forwarded, tc.trusted, status)
		}
	}
}

func TestHostAllowSettings(t *testing.T) {
	for _, host := range []string{"", ".", "*", "*.", "example.com:80", "http://example.com", "a b", "bücher.example", "a.*.example", "*example.com", "example.com/", "..", "a..b", ".example.com", strings.Repeat("a", 254)} {
		mustPanic(t, "is not a host", func() { middleware.HostAllow{Hosts: []string{host}}.Handler() })
	}
	for _, status := range []int{200, 400, 404, -1} {
		mustPanic(t, "421 or 403", func() { middleware.HostAllow{Status: status}.Handler() })
	}
}
