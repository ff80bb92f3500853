package messages_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

func TestCookieAppendBytes(t *testing.T) {
	at := time.Date(2026, time.March, 4, 5, 6, 7, 0, time.FixedZone("", 3600))
	for _, tc := range []struct {
		name string
		set  func(c *gallop.Cookie)
		want string
	}{
		{"pair", func(c *gallop.Cookie) {}, "k=v"},
		{"empty value", func(c *gallop.Cookie) { c.SetValue("") }, "k="},
		{"quoted value", func(c *gallop.Cookie) { c.SetValue(`"v"`) }, `k="v"`},
		{"blank and comma are quoted", func(c *gallop.Cookie) { c.SetValue("a b,c") }, `k="a b,c"`},
		{"quoted once", func(c *gallop.Cookie) { c.SetValue(`"a b"`) }, `k="a b"`},
		{"max-age", func(c *gallop.Cookie) { c.SetMaxAge(60) }, "k=v; max-age=60"},
		{"delete", func(c *gallop.Cookie) { c.SetMaxAge(-5) }, "k=v; max-age=0"},
		{"expires in GMT", func(c *gallop.Cookie) { c.SetExpire(at) }, "k=v; expires=Wed, 04 Mar 2026 04:06:07 GMT"},
		{"max-age goes first", func(c *gallop.Cookie) { c.SetExpire(at); c.SetMaxAge(1) }, "k=v; max-age=1"},
		{"expired", func(c *gallop.Cookie) { c.SetExpire(gallop.CookieExpireDelete) }, "k=v; expires=Tue, 10 Nov 2009 23:00:00 GMT"},
		{"unlimited", func(c *gallop.Cookie) { c.SetExpire(gallop.CookieExpireUnlimited) }, "k=v"},
		{"year 10000", func(c *gallop.Cookie) { c.SetExpire(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) }, "k=v"},
		{"domain", func(c *gallop.Cookie) { c.SetDomain("a.example") }, "k=v; domain=a.example"},
		{"domain of one letter", func(c *gallop.Cookie) { c.SetDomain("z") }, "k=v; domain=z"},
		{"all that domains are made of", func(c *gallop.Cookie) { c.SetDomain(".aZ09-_[::1]") }, "k=v; domain=.aZ09-_[::1]"},
		{"path", func(c *gallop.Cookie) { c.SetPath("/a%20b/../c") }, "k=v; path=/a%20b/../c"},
		{"path with blanks and quotes", func(c *gallop.Cookie) { c.SetPath(`/a "b"\~`) }, `k=v; path=/a "b"\~`},
		{"empty path", func(c *gallop.Cookie) { c.SetPath("") }, "k=v; path=/"},
		{"relative path", func(c *gallop.Cookie) { c.SetPath("a") }, "k=v; path=/a"},
		{"flags", func(c *gallop.Cookie) { c.SetHTTPOnly(true); c.SetSecure(true) }, "k=v; HttpOnly; secure"},
		{"same-site default", func(c *gallop.Cookie) { c.SetSameSite(gallop.CookieSameSiteDefaultMode) }, "k=v; SameSite"},
		{"same-site lax", func(c *gallop.Cookie) { c.SetSameSite(gallop.CookieSameSiteLaxMode) }, "k=v; SameSite=Lax"},
		{"same-site strict", func(c *gallop.Cookie) { c.SetSameSite(gallop.CookieSameSiteStrictMode) }, "k=v; SameSite=Strict"},
		{"same-site none is secure", func(c *gallop.Cookie) { c.SetSameSite(gallop.CookieSameSiteNoneMode) }, "k=v; secure; SameSite=None"},
		{"partitioned is secure and of the root", func(c *gallop.Cookie) { c.SetPath("/a"); c.SetPartitioned(true) }, "k=v; path=/; secure; Partitioned"},
		{"reset", func(c *gallop.Cookie) { c.SetPartitioned(true); c.Reset(); c.SetKey("k") }, "k="},
		{"no key", func(c *gallop.Cookie) { c.SetKey(""); c.SetPath("/") }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c, copied gallop.Cookie
			c.SetKey("k")
			c.SetValue("v")
			tc.set(&c)
			copied.CopyTo(&c)
			c.CopyTo(&c)
			for what, got := range map[string]string{
				"String": c.String(), "Cookie": string(c.Cookie()), "copy": copied.String(),
				"AppendBytes": strings.TrimPrefix(string(c.AppendBytes([]byte("x"))), "x"),
			} {
				if got != tc.want {
					t.Errorf("%s: got %q, want %q", what, got, tc.want)
				}
			}
			var buf bytes.Buffer
			if n, err := c.WriteTo(&buf); err != nil || n != int64(len(tc.want)) || buf.String() != tc.want {
				t.Errorf("WriteTo: %d, %v, %q", n, err, buf.String())
			}
		})
	}
}

// A value that a setter refuses leaves its field empty, and nothing of the value is written.
func TestCookieSettersRefuse(t *testing.T) {
	evil := []string{"x; secure", "x\r\nSet-Cookie: y=z", "x\x00", "x\x7f", "x\ny", "x\u00e9"}
	for _, tc := range []struct {
		field string
		set   func(c *gallop.Cookie, s string)
		more  []string
		want  string
	}{
		{"key", (*gallop.Cookie).SetKey, []string{"sid; secure", "a b", "a=b", `"a"`, "a,b"}, ""},
		{"value", (*gallop.Cookie).SetValue, []string{"abc; domain=evil.com", `"abc; domain=evil.com`, `a"b`, `a\b`, `"`, "a\tb"}, "k=; domain=a.example; path=/p"},
		{"domain", (*gallop.Cookie).SetDomain, []string{`e"vil`, "a b", "a/b", "a,b", "a{", "a`", "a@", "a\\"}, "k=v; path=/p"},
		{"path", (*gallop.Cookie).SetPath, nil, "k=v; domain=a.example"},
	} {
		for _, value := range append(tc.more, evil...) {
			var c gallop.Cookie
			c.SetKey("k")
			c.SetValue("v")
			c.SetDomain("a.example")
			c.SetPath("/p")
			if tc.set(&c, value); c.String() != tc.want {
				t.Errorf("%s %q: wrote %q, want %q", tc.field, value, c.String(), tc.want)
			}
		}
	}
}

// Parse replaces all that the cookie had, and copies what it keeps.
func TestCookieParseReplaces(t *testing.T) {
	var c gallop.Cookie
	c.SetPartitioned(true)
	c.SetMaxAge(5)
	line := []byte("k=v; expires=Wed, 04 Mar 2026 05:06:07 GMT; domain=a.example; path=/p; secure; httponly; SameSite=strict")
	if err := c.ParseBytes(line); err != nil {
		t.Fatal(err)
	}
	clear(line)
	const want = "k=v; expires=Wed, 04 Mar 2026 05:06:07 GMT; domain=a.example; path=/p; HttpOnly; secure; SameSite=Strict"
	if c.String() != want || c.SameSite() != gallop.CookieSameSiteStrictMode || c.MaxAge() != 0 || c.Partitioned() {
		t.Errorf("got %q", c.String())
	}
	if err := c.ParseBytes(c.Cookie()); err != nil || c.String() != want {
		t.Errorf("parsed again: %v, %q", err, c.String())
	}
	if err := c.Parse("a=b"); err != nil || c.String() != "a=b" || !c.Expire().IsZero() {
		t.Errorf("without attributes: %v, %q", err, c.String())
	}
}

func TestCookieParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		header string
		want   error
	}{
		{"", gallop.ErrNoCookies},
		{";", gallop.ErrNoCookies},
		{" = ; path=/", gallop.ErrNoCookies},
		{`session="abc; domain=evil.com`, gallop.ErrInvalidCookieValue},
		{`k=a\b`, gallop.ErrInvalidCookieValue},
		{`k=v; domain=e"vil`, gallop.ErrInvalidCookieValue},
		{"k=v; domain=a b", gallop.ErrInvalidCookieValue},
		{"k=v\r\nSet-Cookie: x=y", gallop.ErrInvalidCookieValue},
		{"k=v; path=/\x00", gallop.ErrInvalidCookieValue},
		{"k\x7f=v", gallop.ErrInvalidCookieValue},
	} {
		var c gallop.Cookie
		c.SetKey("before")
		if err := c.Parse(tc.header); err != tc.want || c.String() != "" {
			t.Errorf("%q: %v, %q; want %v", tc.header, err, c.String(), tc.want)
		}
	}
}

func TestCookiesDoNotAllocate(t *testing.T) {
	var c gallop.Cookie
	header := []byte("k=v; expires=Wed, 04-Mar-2026 05:06:07 GMT; domain=a.example; path=/p; HttpOnly; SameSite=Lax")
	f := func() {
		if err := c.ParseBytes(header); err != nil {
			t.Fatal(err)
		}
		c.SetKey("key")
		c.SetValue("some value")
		c.SetPath("/q")
		c.Cookie()
	}
	f()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
