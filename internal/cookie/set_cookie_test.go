package cookie

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

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
			c := SetCookie{Partitioned: true} // has to go
			if err := c.Parse([]byte(tc.header)); err != nil {
				t.Fatal(err)
			}
			if written := string(c.Append(nil)); string(c.Name) != tc.key || string(c.Value) != tc.value || written != tc.written {
				t.Errorf("got %q, %q, %q; want %q, %q, %q", c.Name, c.Value, written, tc.key, tc.value, tc.written)
			}
		})
	}
}

func TestSetCookieCopyFrom(t *testing.T) {
	line := []byte("k=v; max-age=60; domain=a.example; path=/p; secure; SameSite=strict")
	var parsed SetCookie
	if err := parsed.Parse(line); err != nil {
		t.Fatal(err)
	}
	var c SetCookie
	c.CopyFrom(&parsed)
	clear(line)
	if got := string(c.Append(nil)); got != "k=v; max-age=60; domain=a.example; path=/p; secure; SameSite=Strict" {
		t.Errorf("got %q", got)
	}
	c.CopyFrom(&SetCookie{Name: []byte("a")})
	if got := string(c.Append(nil)); got != "a=" {
		t.Errorf("got %q", got)
	}
}

func TestNameOfSetCookie(t *testing.T) {
	for line, want := range map[string]string{"": "", "a": "", "a=1": "a", " a = 1; path=/": "a", "=1": "", "; a=1": ""} {
		if got := Name([]byte(line)); string(got) != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestSetCookieParseRefuses(t *testing.T) {
	for line, want := range map[string]error{
		"": ErrEmpty, " = ; path=/": ErrEmpty, "k=v; path=/\x00": ErrInvalid, `k=a"b`: ErrInvalid, "k=v; domain=a b": ErrInvalid,
	} {
		var c SetCookie
		if err := c.Parse([]byte(line)); err != want {
			t.Errorf("%q: %v, want %v", line, err, want)
		}
	}
}

func TestCookieFieldOfAMegabyteOfSemicolons(t *testing.T) {
	field := bytes.Repeat([]byte(";"), 1<<20)
	if _, _, _, ok := Next(field); ok {
		t.Error("found a cookie")
	}
	if got := Delete(field, []byte("a")); len(got) != 0 {
		t.Errorf("%d bytes left", len(got))
	}
	var c SetCookie
	if err := c.Parse(append([]byte("k=v"), field...)); err != nil || string(c.Append(nil)) != "k=v" {
		t.Errorf("%v, %q", err, c.Append(nil))
	}
}

// A cookie that was parsed and written is parsed as the same cookie again, and net/http parses it as the same cookie.
func FuzzCookieParse(f *testing.F) {
	for _, s := range []string{
		"k=v", `k="a b"; Path=/; Max-Age=1`, "k=v; Expires=Wed, 04-Mar-2026 05:06:07 GMT; SameSite=None; Secure", "a[b]=\xff; Domain=.x",
		"k=v; Domain= a.example", "k=v; Max-Age=+5", "k=v; Secure\t=1; Path =/a", "k=v; Path=/a; Path=b; Partitioned; HttpOnly", "k=\"\tb\"",
		"k=v; Expires=Wed, 04 Mar 2026 5:06:07.5 GMT; SameSite\t= Lax",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var c, again SetCookie
		if c.Parse([]byte(s)) != nil {
			return
		}
		written := c.Append(nil)
		if len(written) > 0 {
			if err := again.Parse(written); err != nil || string(again.Append(nil)) != string(written) {
				t.Fatalf("%q: wrote %q, read again as %q, %v", s, written, again.Append(nil), err)
			}
		}
		std, err := http.ParseSetCookie(withoutBlanks(s))
		if err != nil {
			return
		}
		if string(c.Name) != std.Name || string(c.Value) != std.Value {
			t.Fatalf("%q: got %q=%q, net/http has %q=%q", s, c.Name, c.Value, std.Name, std.Value)
		}
		// net/http lists attributes that it cannot parse. It accepts a number with a plus sign, which RFC 6265 §5.2.2
		// refuses.
		if len(std.Unparsed) > 0 || plusMaxAge.MatchString(s) {
			return
		}
		if difference := cookieDifference(&c, std); difference != "" {
			t.Fatalf("%q: %s: got %q, net/http has %q", s, difference, written, std.String())
		}
	})
}

var plusMaxAge = regexp.MustCompile(`(?i);[ \t]*max-age[ \t]*=[ \t]*\+`)

// withoutBlanks removes the blanks around names and values (RFC 6265 §5.2). net/http keeps most of them.
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
func cookieDifference(c *SetCookie, std *http.Cookie) string {
	path := std.Path
	if !strings.HasPrefix(path, "/") { // ignored: RFC 6265 §5.2.4
		path = ""
	}
	sameSite := map[http.SameSite]SameSite{http.SameSiteDefaultMode: SameSiteDefault, http.SameSiteLaxMode: SameSiteLax,
		http.SameSiteStrictMode: SameSiteStrict, http.SameSiteNoneMode: SameSiteNone}
	// RFC 6265 §5.1.1 ignores zones and fractions of a second, and refuses years before 1601.
	dated := strings.HasSuffix(std.RawExpires, " GMT") && std.Expires.Year() >= 1601
	switch {
	case string(c.Path) != path:
		return "Path"
	case string(c.Domain) != std.Domain:
		return "Domain"
	case c.Secure != std.Secure || c.HTTPOnly != std.HttpOnly || c.Partitioned != std.Partitioned:
		return "Secure, HttpOnly or Partitioned"
	case c.MaxAge != std.MaxAge:
		return "Max-Age"
	case c.SameSite != sameSite[std.SameSite]:
		return "SameSite"
	case dated && !c.Expires.Equal(std.Expires.Truncate(time.Second)):
		return "Expires"
	}
	return ""
}
