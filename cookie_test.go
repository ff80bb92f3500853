package gallop

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/cookie"
)

func TestCookieAppendBytes(t *testing.T) {
	at := time.Date(2026, time.March, 4, 5, 6, 7, 0, time.FixedZone("", 3600))
	for _, tc := range []struct {
		name string
		set  func(c *Cookie)
		want string
	}{
		{"pair", func(c *Cookie) {}, "k=v"},
		{"empty value", func(c *Cookie) { c.SetValue("") }, "k="},
		{"quoted value", func(c *Cookie) { c.SetValue(`"v"`) }, `k="v"`},
		{"blank and comma are quoted", func(c *Cookie) { c.SetValue("a b,c") }, `k="a b,c"`},
		{"quoted once", func(c *Cookie) { c.SetValue(`"a b"`) }, `k="a b"`},
		{"max-age", func(c *Cookie) { c.SetMaxAge(60) }, "k=v; max-age=60"},
		{"delete", func(c *Cookie) { c.SetMaxAge(-5) }, "k=v; max-age=0"},
		{"expires in GMT", func(c *Cookie) { c.SetExpire(at) }, "k=v; expires=Wed, 04 Mar 2026 04:06:07 GMT"},
		{"max-age goes first", func(c *Cookie) { c.SetExpire(at); c.SetMaxAge(1) }, "k=v; max-age=1"},
		{"expired", func(c *Cookie) { c.SetExpire(CookieExpireDelete) }, "k=v; expires=Tue, 10 Nov 2009 23:00:00 GMT"},
		{"unlimited", func(c *Cookie) { c.SetExpire(CookieExpireUnlimited) }, "k=v"},
		{"year 10000", func(c *Cookie) { c.SetExpire(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) }, "k=v"},
		{"domain", func(c *Cookie) { c.SetDomain("a.example") }, "k=v; domain=a.example"},
		{"domain of one letter", func(c *Cookie) { c.SetDomain("z") }, "k=v; domain=z"},
		{"all that domains are made of", func(c *Cookie) { c.SetDomain(".aZ09-_[::1]") }, "k=v; domain=.aZ09-_[::1]"},
		{"path", func(c *Cookie) { c.SetPath("/a%20b/../c") }, "k=v; path=/a%20b/../c"},
		{"path with blanks and quotes", func(c *Cookie) { c.SetPath(`/a "b"\~`) }, `k=v; path=/a "b"\~`},
		{"empty path", func(c *Cookie) { c.SetPath("") }, "k=v; path=/"},
		{"relative path", func(c *Cookie) { c.SetPath("a") }, "k=v; path=/a"},
		{"flags", func(c *Cookie) { c.SetHTTPOnly(true); c.SetSecure(true) }, "k=v; HttpOnly; secure"},
		{"same-site default", func(c *Cookie) { c.SetSameSite(CookieSameSiteDefaultMode) }, "k=v; SameSite"},
		{"same-site lax", func(c *Cookie) { c.SetSameSite(CookieSameSiteLaxMode) }, "k=v; SameSite=Lax"},
		{"same-site strict", func(c *Cookie) { c.SetSameSite(CookieSameSiteStrictMode) }, "k=v; SameSite=Strict"},
		{"same-site none is secure", func(c *Cookie) { c.SetSameSite(CookieSameSiteNoneMode) }, "k=v; secure; SameSite=None"},
		{"partitioned is secure and of the root", func(c *Cookie) { c.SetPath("/a"); c.SetPartitioned(true) }, "k=v; path=/; secure; Partitioned"},
		{"reset", func(c *Cookie) { c.SetPartitioned(true); c.Reset(); c.SetKey("k") }, "k="},
		{"no key", func(c *Cookie) { c.SetKey(""); c.SetPath("/") }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c, copied Cookie
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
		set   func(c *Cookie, s string)
		more  []string
		want  string
	}{
		{"key", (*Cookie).SetKey, []string{"sid; secure", "a b", "a=b", `"a"`, "a,b"}, ""},
		{"value", (*Cookie).SetValue, []string{"abc; domain=evil.com", `"abc; domain=evil.com`, `a"b`, `a\b`, `"`, "a\tb"}, "k=; domain=a.example; path=/p"},
		{"domain", (*Cookie).SetDomain, []string{`e"vil`, "a b", "a/b", "a,b", "a{", "a`", "a@", "a\\"}, "k=v; path=/p"},
		{"path", (*Cookie).SetPath, nil, "k=v; domain=a.example"},
	} {
		for _, value := range append(tc.more, evil...) {
			var c Cookie
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

func TestCookieParse(t *testing.T) {
	for _, tc := range []struct{ name, header, key, value, written string }{
		{"pair", "k=v", "k", "v", "k=v"},
		{"blanks", "  k  =  v  ;  ", "k", "v", "k=v"},
		{"equals sign in the value", "k=v=w", "k", "v=w", "k=v=w"},
		{"empty value", "k=", "k", "", "k="},
		{"no name", "=v", "", "v", ""},
		{"no equals sign", "v", "", "v", ""},
		{"quotes", `k="v"`, "k", "v", "k=v"},
		{"blank in the value", "k=a b", "k", "a b", `k="a b"`},
		{"tab in quotes", "k=\"\tv\"", "k", "\tv", "k=\"\tv\""},
		{"blanks in quotes", `k=" v "`, "k", " v ", `k=" v "`},
		{"above ASCII", "k=\u00e9", "k", "\u00e9", "k=\u00e9"},
		{"name that is no token", "a[b]=v", "a[b]", "v", "a[b]=v"},
		{"all attributes", "k=v; expires=Wed, 04 Mar 2026 05:06:07 GMT; domain=a.example; PATH=/p; secure; httponly; SameSite=lax; Partitioned",
			"k", "v", "k=v; expires=Wed, 04 Mar 2026 05:06:07 GMT; domain=a.example; path=/p; HttpOnly; secure; SameSite=Lax; Partitioned"},
		{"no blanks between", "k=v;Path=/p;Secure", "k", "v", "k=v; path=/p; secure"},
		{"empty attributes", "k=v;;; ;Secure", "k", "v", "k=v; secure"},
		{"unknown attribute", "k=v; Priority=High; secure", "k", "v", "k=v; secure"},
		{"last one counts", "k=v; path=/a; path=/b", "k", "v", "k=v; path=/b"},
		{"relative path is none", "k=v; path=/a; path=b", "k", "v", "k=v"},
		{"quote in a path", `k=v; path=/a"b\c`, "k", "v", `k=v; path=/a"b\c`},
		{"path above ASCII is none", "k=v; path=/\u00e9", "k", "v", "k=v"},
		{"max-age", "k=v; max-age=60", "k", "v", "k=v; max-age=60"},
		{"max-age of zero", "k=v; max-age=0", "k", "v", "k=v; max-age=0"},
		{"max-age below zero", "k=v; max-age=-1", "k", "v", "k=v; max-age=0"},
		{"max-age too large", "k=v; max-age=99999999999999999999", "k", "v", fmt.Sprintf("k=v; max-age=%d", math.MaxInt)},
		{"max-age of letters", "k=v; max-age=x1", "k", "v", "k=v"},
		{"max-age of nothing", "k=v; max-age=-", "k", "v", "k=v"},
		{"same-site without value", "k=v; SameSite", "k", "v", "k=v; SameSite"},
		{"same-site unknown", "k=v; SameSite=x", "k", "v", "k=v; SameSite"},
		{"expires with dashes", "k=v; expires=Wed, 04-Mar-2026 05:06:07 GMT", "k", "v", "k=v; expires=Wed, 04 Mar 2026 05:06:07 GMT"},
		{"expires that is none", "k=v; expires=tomorrow", "k", "v", "k=v"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c Cookie
			c.SetPartitioned(true) // has to go
			if err := c.Parse(tc.header); err != nil {
				t.Fatal(err)
			}
			if string(c.Key()) != tc.key || string(c.Value()) != tc.value || c.String() != tc.written {
				t.Errorf("got %q, %q, %q; want %q, %q, %q", c.Key(), c.Value(), c.String(), tc.key, tc.value, tc.written)
			}
		})
	}
}

func TestCookieParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		header string
		want   error
	}{
		{"", ErrNoCookies},
		{";", ErrNoCookies},
		{" = ; path=/", ErrNoCookies},
		{`session="abc; domain=evil.com`, ErrInvalidCookieValue},
		{`k=a\b`, ErrInvalidCookieValue},
		{`k=v; domain=e"vil`, ErrInvalidCookieValue},
		{"k=v; domain=a b", ErrInvalidCookieValue},
		{"k=v\r\nSet-Cookie: x=y", ErrInvalidCookieValue},
		{"k=v; path=/\x00", ErrInvalidCookieValue},
		{"k\x7f=v", ErrInvalidCookieValue},
	} {
		var c Cookie
		c.SetKey("before")
		if err := c.Parse(tc.header); err != tc.want || c.String() != "" {
			t.Errorf("%q: %v, %q; want %v", tc.header, err, c.String(), tc.want)
		}
	}
}

func TestCookieFieldOfAMegabyteOfSemicolons(t *testing.T) {
	field := bytes.Repeat([]byte(";"), 1<<20)
	if _, _, _, ok := cookie.Next(field); ok {
		t.Error("found a cookie")
	}
	if got := cookie.Delete(field, []byte("a")); len(got) != 0 {
		t.Errorf("%d bytes left", len(got))
	}
	var c Cookie
	if err := c.ParseBytes(append([]byte("k=v"), bytes.Repeat([]byte(";"), 1<<20)...)); err != nil || c.String() != "k=v" {
		t.Errorf("%v, %q", err, c.String())
	}
}

// A cookie that was read is written so that it reads the same again, and net/http reads the same.
func FuzzCookieParse(f *testing.F) {
	for _, s := range []string{
		"k=v", `k="a b"; Path=/; Max-Age=1`, "k=v; Expires=Wed, 04-Mar-2026 05:06:07 GMT; SameSite=None; Secure", "a[b]=\xff; Domain=.x",
		"k=v; Domain= a.example", "k=v; Max-Age=+5", "k=v; Secure\t=1; Path =/a", "k=v; Path=/a; Path=b; Partitioned; HttpOnly", "k=\"\tb\"",
		"k=v; Expires=Wed, 04 Mar 2026 5:06:07.5 GMT; SameSite\t= Lax",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var c, again Cookie
		if c.Parse(s) != nil {
			return
		}
		if written := c.String(); written != "" {
			if err := again.Parse(written); err != nil || again.String() != written {
				t.Fatalf("%q: wrote %q, read again as %q, %v", s, written, again.String(), err)
			}
		}
		std, err := http.ParseSetCookie(withoutBlanks(s))
		if err != nil {
			return
		}
		if string(c.Key()) != std.Name || string(c.Value()) != std.Value {
			t.Fatalf("%q: got %q=%q, net/http has %q=%q", s, c.Key(), c.Value(), std.Name, std.Value)
		}
		// net/http keeps apart attributes that it cannot read, and takes a number with a plus
		// sign, which RFC 6265 §5.2.2 does not.
		if len(std.Unparsed) > 0 || plusMaxAge.MatchString(s) {
			return
		}
		if difference := cookieDifference(&c, std); difference != "" {
			t.Fatalf("%q: %s: got %q, net/http has %q", s, difference, c.String(), std.String())
		}
	})
}

var plusMaxAge = regexp.MustCompile(`(?i);[ \t]*max-age[ \t]*=[ \t]*\+`)

// withoutBlanks takes away what stands around names and values and is no part of them
// (RFC 6265 §5.2). net/http keeps most of it.
func withoutBlanks(setCookie string) string {
	parts := strings.Split(setCookie, ";")
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		parts[i] = strings.Trim(name, " \t")
		if ok {
			parts[i] += "=" + strings.Trim(value, " \t")
		}
	}
	return strings.Join(parts, ";")
}

// cookieDifference names the attribute in which two readings of a cookie differ.
func cookieDifference(c *Cookie, std *http.Cookie) string {
	path := std.Path
	if !strings.HasPrefix(path, "/") { // as if it were not there: RFC 6265 §5.2.4
		path = ""
	}
	sameSite := map[http.SameSite]CookieSameSite{http.SameSiteDefaultMode: CookieSameSiteDefaultMode, http.SameSiteLaxMode: CookieSameSiteLaxMode,
		http.SameSiteStrictMode: CookieSameSiteStrictMode, http.SameSiteNoneMode: CookieSameSiteNoneMode}
	// Cookies know neither other zones, fractions of a second nor years before 1601 (RFC 6265 §5.1.1).
	dated := strings.HasSuffix(std.RawExpires, " GMT") && std.Expires.Year() >= 1601
	switch {
	case string(c.Path()) != path:
		return "Path"
	case string(c.Domain()) != std.Domain:
		return "Domain"
	case c.Secure() != std.Secure || c.HTTPOnly() != std.HttpOnly || c.Partitioned() != std.Partitioned:
		return "Secure, HttpOnly or Partitioned"
	case c.MaxAge() != std.MaxAge:
		return "Max-Age"
	case c.SameSite() != sameSite[std.SameSite]:
		return "SameSite"
	case dated && !c.Expire().Equal(std.Expires.Truncate(time.Second)):
		return "Expires"
	}
	return ""
}

func TestCookiesDoNotAllocate(t *testing.T) {
	var c Cookie
	header := []byte("k=v; expires=Wed, 04-Mar-2026 05:06:07 GMT; domain=a.example; path=/p; HttpOnly; SameSite=Lax")
	field, name := []byte(`a=1; b="2"; c=3`), []byte("c")
	var out []byte
	f := func() {
		if err := c.ParseBytes(header); err != nil {
			t.Fatal(err)
		}
		c.SetKey("key")
		c.SetValue("some value")
		c.SetPath("/q")
		c.Cookie()
		if v, ok := cookie.Find(field, name); !ok || string(v) != "3" {
			t.Fatal(v)
		}
		out = cookie.Append(append(out[:0], field...), name, header[:1])
		out = cookie.Delete(out, name)
	}
	f()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
