package middleware_test

import (
	"bufio"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// reflecting returns an app whose page contains what the handler sees of the request, and which everybody may store.
func reflecting(m middleware.Cache, proxies ...netip.Prefix) *web.App {
	app := web.New(web.Config{Server: &gallop.Server{Logger: newQuiet()}, TrustedProxies: proxies})
	app.Use(m)
	app.Get("/{path...}", func(c *web.Ctx) error {
		c.SetHeader("Cache-Control", "public, max-age=60")
		var seen []string
		for name, value := range c.Headers() {
			if name != "Cookie" && name != "User-Agent" && name != "Accept-Encoding" {
				seen = append(seen, name+": "+value)
			}
		}
		return c.SendString(c.FullURL() + " " + string(c.Body()) + " " + strings.Join(seen, " "))
	})
	return app
}

// A client cannot put bytes of its request into the page of other clients by a header that frameworks obey (web cache poisoning).
func TestCachePoisoning(t *testing.T) {
	for _, header := range []string{
		"X-Forwarded-Host: evil.example", "x-forwarded-host: evil.example", "X-Host: evil.example", "X-Original-Host: evil.example",
		"X-Forwarded-Proto: evil", "X-Forwarded-Scheme: evil", "X-Forwarded-Protocol: evil", "X-Url-Scheme: evil", "X-Forwarded-Port: 1",
		"X-Forwarded-Ssl: on", "Front-End-Https: on", "X-Forwarded-Prefix: /evil", "X-Forwarded-Path: /evil", "X-Original-URL: /evil",
		"X-Original-URI: /evil", "X-Rewrite-URL: /evil", "X-HTTP-Method: POST", "X-HTTP-Method-Override: POST", "X-Method-Override: POST",
		"Forwarded: host=evil.example",
	} {
		app := reflecting(middleware.Cache{})
		name, value, _ := strings.Cut(header, ": ")
		poison := ask(t, app, "GET", "/", header)
		poison.want(t, "Cache-Status", "gallop; fwd=bypass")
		if a := ask(t, app, "GET", "/"); strings.Contains(a.body, name) || !strings.Contains(poison.body, value) {
			t.Errorf("%s: the next client got %q", header, a.body)
		}
		stored := ask(t, app, "GET", "/")
		stored.want(t, "Cache-Status", "gallop; hit; ttl=60")
		if a := ask(t, app, "GET", "/", header); !strings.Contains(a.body, value) {
			t.Errorf("%s: the handler did not get the request", header)
		}
		keyed := reflecting(middleware.Cache{KeyHeaders: []string{name}})
		ask(t, keyed, "GET", "/", header)
		ask(t, keyed, "GET", "/", header).want(t, "Cache-Status", "gallop; hit; ttl=60")
		if a := ask(t, keyed, "GET", "/"); strings.Contains(a.body, ": "+value) {
			t.Errorf("%s in KeyHeaders: the next client got %q", header, a.body)
		}
	}
	app := reflecting(middleware.Cache{})
	harmless := []string{"X-Forwarded-Host: example.com", "X-Forwarded-Proto: http", "X-Forwarded-Port: 80", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Ssl: off"}
	ask(t, app, "GET", "/", harmless...)
	ask(t, app, "GET", "/", harmless...).want(t, "Cache-Status", "gallop; hit; ttl=60")

	raw := gallop.Request{}
	raw.SetRequestURI("/")
	raw.Header.SetHost("example.com")
	raw.Header.DisableNormalizing()
	raw.Header.Set("x-forwarded-HOST", "evil.example")
	r := new(gallop.RequestCtx)
	r.Init(&raw, nil, newQuiet())
	poisoned := reflecting(middleware.Cache{})
	poisoned.Handler()(r)
	if a := ask(t, poisoned, "GET", "/"); strings.Contains(a.body, "evil") || !strings.Contains(string(r.Response.Body()), "evil") {
		t.Errorf("without normalizing, the next client got %q", a.body)
	}

	behind := reflecting(middleware.Cache{}, netip.MustParsePrefix("203.0.113.0/24"))
	for _, status := range []string{"gallop; fwd=uri-miss; stored", "gallop; hit; ttl=60"} {
		for _, origin := range []string{"https://a.example", "https://b.example", "http://a.example"} {
			scheme, host, _ := strings.Cut(origin, "://")
			a := direct(t.Context(), behind, "/", "X-Forwarded-Host", host, "X-Forwarded-Proto", scheme)
			if a.want(t, "Cache-Status", status); !strings.HasPrefix(a.body, origin+"/") {
				t.Errorf("%s: %q", origin, a.body)
			}
		}
	}
}

// A GET request with a body does not change what other clients get (fat GET).
func TestCacheFatGET(t *testing.T) {
	app := reflecting(middleware.Cache{})
	fat := ask(t, app, "GET", "/", "Body: evil")
	fat.want(t, "Cache-Status", "gallop; fwd=bypass")
	if a := ask(t, app, "GET", "/"); strings.Contains(a.body, "evil") || !strings.Contains(fat.body, "evil") {
		t.Errorf("%q", a.body)
	}
	if a := ask(t, app, "GET", "/", "Body: other"); !strings.Contains(a.body, "other") {
		t.Errorf("a request with a body got %q", a.body)
	}
}

// Each spelling of a URL has responses of its own, so that a handler that sees the spelling cannot be used against another one.
func TestCacheKeys(t *testing.T) {
	ln := memnet.NewListener()
	app := reflecting(middleware.Cache{})
	go app.Serve(ln)
	defer app.Close()
	conn, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	get := func(target, host string) (body, cacheStatus string) {
		t.Helper()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, host)
		var response gallop.Response
		if err := response.Read(reader); err != nil {
			t.Fatal(err)
		}
		return string(response.Body()), string(response.Header.Peek("Cache-Status"))
	}
	bodies := map[string]string{}
	for _, host := range []string{"example.com", "example.com:80", "other.example"} {
		for _, target := range []string{"/", "/?", "/?a", "/?A", "/?a=1&b=2", "/?b=2&a=1", "/?a=1;b=2", "/a", "/A", "/a/", "//a", "/./a", "/x/../a", "/%61", "/%2fa", "/%2Fa", "/a?utm_source=x"} {
			body, _ := get(target, host)
			if again, status := get(target, host); again != body || !strings.Contains(status, "hit") {
				t.Errorf("%s %s: %q, %s", host, target, again, status)
			}
			if other := bodies[body]; other != "" {
				t.Errorf("%s %s has the response of %s", host, target, other)
			}
			bodies[body] = host + " " + target
		}
	}
	if body, status := get("/", "EXAMPLE.com"); !strings.Contains(body, "http://example.com/ ") || !strings.Contains(status, "hit") {
		t.Errorf("%q, %s", body, status)
	}
	if _, status := get("http://example.com/", "example.com"); status != "gallop; fwd=bypass" {
		t.Errorf("a target with a host: %s", status)
	}
}

// A page of a user at an address that looks like a file does not reach others (web cache deception).
func TestCacheDeception(t *testing.T) {
	for name, m := range map[string]middleware.Cache{"default": {}, "TTL": {TTL: time.Hour}, "heuristic": {Heuristic: true}} {
		a := newCounted(m, sends("Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT"))
		victim := ask(t, a.App, "GET", "/account/x.css", "Cookie: session=1")
		if attacker := ask(t, a.App, "GET", "/account/x.css"); attacker.body == victim.body {
			t.Errorf("%s: the attacker got the page of a user", name)
		}
		victim = ask(t, a.App, "GET", "/account/y.css", "Authorization: Bearer x")
		if attacker := ask(t, a.App, "GET", "/account/y.css"); attacker.body == victim.body {
			t.Errorf("%s: the attacker got the page of a user with Authorization", name)
		}
	}
}

// Pages with sessions, tokens and nonces are not stored, wherever they are registered.
func TestCacheWithSessions(t *testing.T) {
	type visit struct{ N int }
	for _, order := range []string{"session first", "cache first"} {
		sessions := &middleware.Session[visit]{}
		csrf := middleware.CSRF{}
		app := newApp(middleware.SecureHeaders{})
		if order == "session first" {
			app.Use(sessions, csrf, middleware.Cache{TTL: time.Hour})
		} else {
			app.Use(middleware.Cache{TTL: time.Hour}, sessions, csrf)
		}
		app.Get("/session", func(c *web.Ctx) error {
			return sessions.Update(c, func(v *visit) error { v.N++; return nil })
		})
		app.Get("/nonce", func(c *web.Ctx) error {
			c.SetHeader("Cache-Control", "max-age=60")
			nonce, err := middleware.Nonce(c)
			if err != nil {
				return err
			}
			return c.SendString(nonce)
		})
		for _, target := range []string{"/session", "/nonce"} {
			first, second := ask(t, app, "GET", target), ask(t, app, "GET", target)
			if first.status != 200 || strings.Contains(second.header.Get("Cache-Status"), "hit") {
				t.Errorf("%s, %s: %d, %s", order, target, first.status, second.header.Get("Cache-Status"))
			}
		}
	}
}

// Many URLs and many variants take up bounded memory, and the handler still responds.
func TestCacheFlood(t *testing.T) {
	t.Parallel()
	store := &middleware.MemoryStore{MaxBytes: 256 << 10}
	a := newCounted(middleware.Cache{Store: store, Name: "test"}, sends("Cache-Control: max-age=600", "Vary: X-A"))
	for i := range 3000 {
		if got := ask(t, a.App, "GET", fmt.Sprint("/?", i), "X-A: a"); got.status != 200 {
			t.Fatal(got)
		}
	}
	for i := range 200 {
		ask(t, a.App, "GET", "/", fmt.Sprint("X-A: ", i))
	}
	stored := 0
	for i := range 200 {
		if got := ask(t, a.App, "HEAD", "/", fmt.Sprint("X-A: ", i)); strings.Contains(got.header.Get("Cache-Status"), "hit") {
			stored++
		}
	}
	if stored != 32 {
		t.Errorf("%d variants of a URL are stored, want 32", stored)
	}
	tiny := newCounted(middleware.Cache{Store: &middleware.MemoryStore{MaxBytes: 700}, Name: "test"}, sends("Cache-Control: max-age=600", "X-Long: "+strings.Repeat("a", 900)))
	if isStored(t, tiny, "/") {
		t.Error("a response that is larger than the store was stored")
	}
	long := "/" + strings.Repeat("a", 2000)
	if !isStored(t, a, long) {
		t.Error("a long URL was not stored")
	}
}

// A malformed value in the store, for example of another version, is replaced.
func TestCacheMalformedValues(t *testing.T) {
	for _, value := range []string{"", "x", "\x01", "\x02\x01" + strings.Repeat("\x00", 99), "\x01\x01" + strings.Repeat("\xff", 99), "\x01\x02" + strings.Repeat("\xff", 99), "\x01\x09" + strings.Repeat("\x00", 99)} {
		memory := new(middleware.MemoryStore)
		store := &corrupting{MemoryStore: memory, value: value}
		a := newCounted(middleware.Cache{Store: store, Name: "test"}, sends("Cache-Control: max-age=60"))
		ask(t, a.App, "GET", "/")
		store.on = true
		ask(t, a.App, "GET", "/")
		if got := ask(t, a.App, "GET", "/"); got.status != 200 || a.calls < 2 {
			t.Errorf("%q: %v", value, got)
		}
		memory.Set(t.Context(), store.key, []byte(value), 0)
		store.on = false
		if calls := a.calls; !isStored(t, a, "/") || a.calls != calls+1 {
			t.Errorf("%q was not replaced", value)
		}
	}
}

// A body from the store is not changed by later requests.
func TestCacheBodiesAreCopies(t *testing.T) {
	app := newApp()
	app.UseFunc(func(c *web.Ctx) error {
		err := c.Next()
		c.WriteString(" and more") // of outer middleware
		return err
	})
	app.Use(middleware.Cache{})
	app.Get("/", func(c *web.Ctx) error { c.SetHeader("Cache-Control", "max-age=60"); return c.SendString("page") })
	for range 3 {
		if a := ask(t, app, "GET", "/"); a.body != "page and more" {
			t.Errorf("%q", a.body)
		}
	}
}
