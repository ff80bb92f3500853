package web

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

// cameFrom serves a request from a peer, with fields "Name: value", and returns what show makes of it.
func cameFrom(config Config, peer net.Addr, fields []string, show func(c *Ctx) string) (got string) {
	app := New(config)
	app.Get("/*", func(c *Ctx) error { got = show(c); return nil })
	request := &gallop.RequestCtx{}
	request.SetRemoteAddr(peer)
	request.Request.SetRequestURI("/p?q")
	request.Request.Header.SetHost("inner:8080")
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		request.Request.Header.Add(name, value)
	}
	app.serve(request)
	return got
}

func tcp(ip string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(ip)) }

func TestTrustedProxies(t *testing.T) {
	show := func(c *Ctx) string { return fmt.Sprint(c.IP(), " ", c.IPs(), " ", c.BaseURL()) }
	const untouched = "http://inner:8080"
	for name, test := range map[string]struct {
		peer   string
		fields []string
		want   string
	}{
		"nobody says anything": {"10.0.0.1:1", nil, "10.0.0.1 [10.0.0.1] " + untouched},
		"the client does": {"9.9.9.9:1", []string{"X-Forwarded-For: 1.1.1.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil", "X-Forwarded-Port: 1", "X-Real-IP: 1.1.1.1"},
			"9.9.9.9 [9.9.9.9] " + untouched},
		"one proxy": {"10.0.0.1:1", []string{"X-Forwarded-For: 9.9.9.9", "X-Forwarded-Proto: https", "X-Forwarded-Host: Example.com"},
			"9.9.9.9 [9.9.9.9 10.0.0.1] https://example.com"},
		"a client that lies to it": {"10.0.0.1:1", []string{"X-Forwarded-For: 1.1.1.1, 10.0.0.7, 9.9.9.9"}, "9.9.9.9 [9.9.9.9 10.0.0.1] " + untouched},
		"in a line of its own":     {"10.0.0.1:1", []string{"X-Forwarded-For: 1.1.1.1", "X-Forwarded-For: 9.9.9.9"}, "9.9.9.9 [9.9.9.9 10.0.0.1] " + untouched},
		"with a quotation mark":    {"10.0.0.1:1", []string{`X-Forwarded-For: "`, "X-Forwarded-For: 9.9.9.9"}, "9.9.9.9 [9.9.9.9 10.0.0.1] " + untouched},
		"two proxies":              {"10.0.0.1:1", []string{"X-Forwarded-For: 1.1.1.1, 9.9.9.9, 10.0.0.2"}, "9.9.9.9 [9.9.9.9 10.0.0.2 10.0.0.1] " + untouched},
		"only proxies":             {"10.0.0.1:1", []string{"X-Forwarded-For: 10.0.0.3, 10.0.0.2"}, "10.0.0.3 [10.0.0.3 10.0.0.2 10.0.0.1] " + untouched},
		"a value for each proxy":   {"10.0.0.1:1", []string{"X-Forwarded-For: 9.9.9.9, 10.0.0.2", "X-Forwarded-Proto: evil, https, http", "X-Forwarded-Host: evil,a,b"}, "9.9.9.9 [9.9.9.9 10.0.0.2 10.0.0.1] https://a"},
		"values of the client":     {"10.0.0.1:1", []string{"X-Forwarded-For: 9.9.9.9", "X-Forwarded-Proto: https, http", "X-Forwarded-Host: evil, a"}, "9.9.9.9 [9.9.9.9 10.0.0.1] http://a"},
		"one value for all":        {"10.0.0.1:1", []string{"X-Forwarded-For: 9.9.9.9, 10.0.0.2", "X-Forwarded-Proto: https"}, "9.9.9.9 [9.9.9.9 10.0.0.2 10.0.0.1] https://inner:8080"},
		"a proxy that hides":       {"10.0.0.1:1", []string{"X-Forwarded-For: 9.9.9.9, unknown"}, "10.0.0.1 [10.0.0.1] " + untouched},
		"empty members":            {"10.0.0.1:1", []string{"X-Forwarded-For: ,9.9.9.9, ,"}, "9.9.9.9 [9.9.9.9 10.0.0.1] " + untouched},
		"ports":                    {"10.0.0.1:1", []string{"X-Forwarded-For: [2001:db8::1]:443, 10.0.0.2:80"}, "2001:db8::1 [2001:db8::1 10.0.0.2 10.0.0.1] " + untouched},
		"brackets":                 {"10.0.0.1:1", []string{"X-Forwarded-For: [2001:db8::1]"}, "2001:db8::1 [2001:db8::1 10.0.0.1] " + untouched},
		"IPv4 in brackets":         {"10.0.0.1:1", []string{"X-Forwarded-For: [9.9.9.9]"}, "10.0.0.1 [10.0.0.1] " + untouched},
		"a zone":                   {"10.0.0.1:1", []string{"X-Forwarded-For: fe80::1%eth0"}, "10.0.0.1 [10.0.0.1] " + untouched},
		"mapped":                   {"[::ffff:10.0.0.1]:1", []string{"X-Forwarded-For: ::ffff:9.9.9.9"}, "9.9.9.9 [9.9.9.9 10.0.0.1] " + untouched},
		"IPv6":                     {"[fd00::1]:1", []string{"X-Forwarded-For: 9.9.9.9"}, "9.9.9.9 [9.9.9.9 fd00::1] " + untouched},
		"no such scheme or host":   {"10.0.0.1:1", []string{"X-Forwarded-For: 9.9.9.9", "X-Forwarded-Proto: javascript", "X-Forwarded-Host: a/b"}, "9.9.9.9 [9.9.9.9 10.0.0.1] " + untouched},
		"another field":            {"10.0.0.1:1", []string{"Forwarded: for=9.9.9.9;proto=https;host=a"}, "10.0.0.1 [10.0.0.1] " + untouched},
		"a chain without end":      {"10.0.0.1:1", []string{"X-Forwarded-For: 9.9.9.9" + strings.Repeat(", 10.0.0.2", 40)}, "10.0.0.2 [" + strings.Repeat("10.0.0.2 ", 32) + "10.0.0.1] " + untouched},
	} {
		config := Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
		if got := cameFrom(config, tcp(test.peer), test.fields, show); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if got := cameFrom(Config{}, tcp("9.9.9.9:1"), test.fields, show); got != "9.9.9.9 [9.9.9.9] "+untouched {
			t.Errorf("%s, without trust: %s", name, got)
		}
	}
}

func TestForwarded(t *testing.T) {
	show := func(c *Ctx) string { return fmt.Sprint(c.IP(), " ", len(c.IPs()), " ", c.BaseURL()) }
	for field, want := range map[string]string{
		"for=9.9.9.9;proto=https;host=a":                          "9.9.9.9 2 https://a",
		`For="[2001:db8::1]:4711" ; Host="a:81";by=x`:             "2001:db8::1 2 http://a:81",
		"for=1.1.1.1;proto=https;host=evil, for=9.9.9.9":          "9.9.9.9 2 http://inner:8080",
		"for=9.9.9.9;proto=https;host=a, for=10.0.0.2;proto=http": "9.9.9.9 3 https://a",
		"for=9.9.9.9, for=10.0.0.2;proto=https":                   "9.9.9.9 3 https://inner:8080",
		`for=", for=9.9.9.9`:                                      "9.9.9.9 2 http://inner:8080",
		`for="9.9.9.9, for=10.0.0.2`:                              "10.0.0.2 2 http://inner:8080",
		`for=9.9.9.9;ext="a, b";proto=https`:                      "9.9.9.9 2 https://inner:8080",
		"for=_hidden;proto=https":                                 "10.0.0.1 1 https://inner:8080",
		"for=unknown, for=10.0.0.2":                               "10.0.0.2 2 http://inner:8080",
		"proto=https":                                             "10.0.0.1 1 https://inner:8080",
		"for=9.9.9.9;for=1.1.1.1":                                 "10.0.0.1 1 http://inner:8080",
		"for":                                                     "10.0.0.1 1 http://inner:8080",
		`for="9.9.9.9"x`:                                          "10.0.0.1 1 http://inner:8080",
		`for=9.9"9.9`:                                             "10.0.0.1 1 http://inner:8080",
		"":                                                        "10.0.0.1 1 http://inner:8080",
	} {
		config := Config{TrustedProxies: PrivateNetworks(), ProxyHeaders: Forwarded}
		fields := []string{"Forwarded: " + field, "X-Forwarded-For: 1.1.1.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil"}
		if got := cameFrom(config, tcp("10.0.0.1:1"), fields, show); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}

func TestPeers(t *testing.T) {
	show := func(c *Ctx) string {
		return fmt.Sprintf("%q %v %v %v", c.IP(), c.IPs(), c.IsFromLocal(), c.IsProxyTrusted())
	}
	unix := &net.UnixAddr{Name: "/s", Net: "unix"}
	fields := []string{"X-Forwarded-For: 9.9.9.9"}
	trusting := Config{TrustedProxies: PrivateNetworks()}
	for _, test := range []struct {
		config Config
		peer   net.Addr
		fields []string
		want   string
	}{
		{Config{}, unix, fields, `"" [] true false`},
		{trusting, unix, fields, `"9.9.9.9" [9.9.9.9] false true`},
		{trusting, unix, nil, `"" [] true true`},
		{trusting, tcp("127.0.0.1:1"), nil, `"127.0.0.1" [127.0.0.1] true true`},
		{Config{}, tcp("[::1]:1"), fields, `"::1" [::1] true false`},
		{trusting, &net.IPAddr{IP: net.IPv4(10, 0, 0, 1)}, fields, `"" [] false false`},
	} {
		if got := cameFrom(test.config, test.peer, test.fields, show); got != test.want {
			t.Errorf("%v: %s, want %s", test.peer, got, test.want)
		}
	}
}

func TestURLs(t *testing.T) {
	for host, want := range map[string]string{
		"a.b.example.com:81": "a.b.example.com:81 a.b.example.com [a b] [a b example]",
		"EXAMPLE.com":        "example.com example.com [] [example]",
		"com":                "com com [] []",
		"10.0.0.1":           "10.0.0.1 10.0.0.1 [] []",
		"[::1]:80":           "[::1]:80 [::1] [] []",
	} {
		config := Config{TrustedProxies: PrivateNetworks()}
		got := cameFrom(config, tcp("10.0.0.1:1"), []string{"X-Forwarded-Host: " + host}, func(c *Ctx) string {
			if c.FullURL() != "http://"+c.Host()+"/p?q" || c.OriginalURL() != "/p?q" || c.Protocol() != "HTTP/1.1" || c.Secure() {
				t.Errorf("%s %s %s", c.FullURL(), c.OriginalURL(), c.Protocol())
			}
			return fmt.Sprint(c.Host(), " ", string(c.HostnameBytes()), " ", c.Subdomains(2), " ", c.Subdomains(1))
		})
		if got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

// Routes by host go by the host that was asked for, if a trusted proxy says so.
func TestHostRoutesBehindProxies(t *testing.T) {
	got := ""
	app := New(Config{TrustedProxies: PrivateNetworks()})
	app.Host("a.com").Get("/", func(c *Ctx) error { got = "a"; return nil })
	app.Get("/", func(c *Ctx) error { got = "any"; return nil })
	for peer, want := range map[string]string{"10.0.0.1:1": "a", "9.9.9.9:1": "any"} {
		request := &gallop.RequestCtx{}
		request.SetRemoteAddr(tcp(peer))
		request.Request.SetRequestURI("/")
		request.Request.Header.SetHost("b.com")
		request.Request.Header.Set("X-Forwarded-Host", "A.com:80")
		if app.serve(request); got != want {
			t.Errorf("%s: %s, want %s", peer, got, want)
		}
	}
}

func FuzzForwarded(f *testing.F) {
	for _, field := range []string{`for="[::1]:1";proto=https, for=10.0.0.1`, `for=",`, "10.0.0.1, 9.9.9.9", `";=,"`, "for=_x;host=a"} {
		f.Add(field)
	}
	show := func(c *Ctx) string { return c.IP() + " " + c.FullURL() }
	f.Fuzz(func(t *testing.T, field string) {
		for _, forwarded := range []bool{false, true} {
			config := Config{TrustedProxies: PrivateNetworks()}
			name, mine := "X-Forwarded-For: ", "9.9.9.9"
			if forwarded {
				config.ProxyHeaders = Forwarded
				name, mine = "Forwarded: ", "for=9.9.9.9"
			}
			cameFrom(config, tcp("10.0.0.1:1"), []string{name + field}, show)
			// whatever a client sends, a proxy that adds to it has the last word
			for _, fields := range [][]string{{name + field, name + mine}, {name + field + ", " + mine}} {
				if got := cameFrom(config, tcp("10.0.0.1:1"), fields, show); got != "9.9.9.9 http://inner:8080/p?q" {
					t.Errorf("%q: %s", field, got)
				}
			}
		}
	})
}
