package middleware_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// cookieBox is SignedCookies or EncryptCookies.
type cookieBox interface {
	Set(c *web.Ctx, cookie web.Cookie) error
	Get(c *web.Ctx, name string) (value string, ok bool)
}

// bothBoxes runs a test with both. The function of makes a box with keys.
func bothBoxes(t *testing.T, test func(t *testing.T, of func(keys ...[]byte) cookieBox)) {
	t.Run("signed", func(t *testing.T) {
		test(t, func(keys ...[]byte) cookieBox { return &middleware.SignedCookies{Keys: keys} })
	})
	t.Run("encrypted", func(t *testing.T) {
		test(t, func(keys ...[]byte) cookieBox { return &middleware.EncryptCookies{Keys: keys} })
	})
}

var keyA, keyB = bytes.Repeat([]byte("a"), 32), bytes.Repeat([]byte("b"), 40)

// sealed returns what a box sends as a cookie. The second result is the Set-Cookie header.
func sealed(t *testing.T, box cookieBox, cookie web.Cookie) (value, line string) {
	t.Helper()
	app := newApp()
	app.Get("/", func(c *web.Ctx) error { return box.Set(c, cookie) })
	a := ask(t, app, "GET", "/")
	if a.status != 200 {
		t.Fatalf("%d %q", a.status, a.body)
	}
	value, _ = cookieOf(a.header, cookie.Name)
	return value, a.header.Get("Set-Cookie")
}

// opened returns what a box reads from a cookie.
func opened(t *testing.T, box cookieBox, name, value string) (plain string, ok bool) {
	t.Helper()
	app := newApp()
	app.Get("/", func(c *web.Ctx) error { plain, ok = box.Get(c, name); return nil })
	ask(t, app, "GET", "/", "Cookie: "+name+"="+value)
	return plain, ok
}

func TestCookies(t *testing.T) {
	bothBoxes(t, func(t *testing.T, of func(keys ...[]byte) cookieBox) {
		box := of(keyA)
		for _, want := range []string{"", "dark", "a;b\"c\\d\r\n\x00\x80\xff", strings.Repeat("\x00", 32), "\x80", strings.Repeat("\x80\x00", 20), strings.Repeat("x", 2500)} {
			value, line := sealed(t, box, web.Cookie{Name: "c", Value: want})
			if got, ok := opened(t, box, "c", value); !ok || got != want {
				t.Errorf("%.20q came back as %.20q, %t", want, got, ok)
			}
			lower := strings.ToLower(line)
			if !strings.Contains(lower, "httponly") || !strings.Contains(lower, "secure") || !strings.Contains(lower, "samesite=lax") || len(line) > 4096 {
				t.Errorf("Set-Cookie: %s", line)
			}
		}
		if _, ok := opened(t, box, "other", "x"); ok {
			t.Error("a value that nobody has sealed")
		}
	})
}

// TestCookiesForged tries everything that a client can do to a cookie.
func TestCookiesForged(t *testing.T) {
	bothBoxes(t, func(t *testing.T, of func(keys ...[]byte) cookieBox) {
		box := of(keyA)
		value, _ := sealed(t, box, web.Cookie{Name: "role", Value: "user"})
		raw, err := base64.RawURLEncoding.DecodeString(value)
		if err != nil {
			t.Fatal(err)
		}
		want := func(what, name, value string) {
			t.Helper()
			if got, ok := opened(t, box, name, value); ok {
				t.Errorf("%s: %q", what, got)
			}
		}
		for i := range raw {
			for _, bit := range []byte{1, 0x80} {
				changed := bytes.Clone(raw)
				changed[i] ^= bit
				want("a changed byte", "role", base64.RawURLEncoding.EncodeToString(changed))
			}
		}
		for n := range raw {
			want("a shorter value", "role", base64.RawURLEncoding.EncodeToString(raw[:n]))
		}
		want("a longer value", "role", value+"AA")
		want("padding", "role", value+"=")
		want("the value of another cookie", "admin", value)
		want("a part of the name", "rol", value)
		want("plain text", "role", "admin")
		want("no value", "role", "")
		want("not base64", "role", "****")
		want("a long value", "role", strings.Repeat("A", 6000))
		other, _ := sealed(t, of(keyB), web.Cookie{Name: "role", Value: "user"})
		want("another key", "role", other)
	})
	signed, _ := sealed(t, &middleware.SignedCookies{Keys: [][]byte{keyA}}, web.Cookie{Name: "c", Value: "v"})
	encrypted, _ := sealed(t, &middleware.EncryptCookies{Keys: [][]byte{keyA}}, web.Cookie{Name: "c", Value: "v"})
	if _, ok := opened(t, &middleware.EncryptCookies{Keys: [][]byte{keyA}}, "c", signed); ok {
		t.Error("a signed value was taken for an encrypted one")
	}
	if _, ok := opened(t, &middleware.SignedCookies{Keys: [][]byte{keyA}}, "c", encrypted); ok {
		t.Error("an encrypted value was taken for a signed one")
	}
}

// The last characters of base64 have spare bits. If they could vary, one value would have several spellings.
func TestCookiesHaveOneSpelling(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	bothBoxes(t, func(t *testing.T, of func(keys ...[]byte) cookieBox) {
		for n := range 3 {
			value, _ := sealed(t, of(keyA), web.Cookie{Name: "c", Value: strings.Repeat("v", n)})
			for _, b := range alphabet {
				if other := value[:len(value)-1] + string(b); other != value {
					if _, ok := opened(t, of(keyA), "c", other); ok {
						t.Errorf("%q is another spelling of %q", other, value)
					}
				}
			}
		}
	})
}

func TestCookieKeyRing(t *testing.T) {
	bothBoxes(t, func(t *testing.T, of func(keys ...[]byte) cookieBox) {
		old, _ := sealed(t, of(keyA), web.Cookie{Name: "c", Value: "v"})
		fresh, _ := sealed(t, of(keyB, keyA), web.Cookie{Name: "c", Value: "v"})
		for _, tc := range []struct {
			what, value string
			box         cookieBox
			ok          bool
		}{
			{"an old cookie under both keys", old, of(keyB, keyA), true},
			{"a new cookie under both keys", fresh, of(keyB, keyA), true},
			{"a new cookie in a process with the new key", fresh, of(keyB), true},
			{"an old cookie after the old key is gone", old, of(keyB), false},
			{"a new cookie in a process with the old key", fresh, of(keyA), false},
		} {
			if got, ok := opened(t, tc.box, "c", tc.value); ok != tc.ok || ok && got != "v" {
				t.Errorf("%s: %q, %t", tc.what, got, ok)
			}
		}
	})
}

// A client keeps a cookie for longer than it may.
func TestCookieExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			box    cookieBox
			cookie web.Cookie
			want   time.Duration
		}{
			"default":   {&middleware.EncryptCookies{Keys: [][]byte{keyA}}, web.Cookie{}, 24 * time.Hour},
			"Lifetime":  {&middleware.SignedCookies{Keys: [][]byte{keyA}, Lifetime: time.Minute}, web.Cookie{}, time.Minute},
			"Lifetime2": {&middleware.EncryptCookies{Keys: [][]byte{keyA}, Lifetime: time.Minute}, web.Cookie{}, time.Minute},
			"MaxAge":    {&middleware.SignedCookies{Keys: [][]byte{keyA}, Lifetime: time.Minute}, web.Cookie{MaxAge: 3600}, time.Hour},
		} {
			tc.cookie.Name, tc.cookie.Value = "c", "v"
			value, _ := sealed(t, tc.box, tc.cookie)
			time.Sleep(tc.want - time.Second)
			if _, ok := opened(t, tc.box, "c", value); !ok {
				t.Errorf("%s: expired early", name)
			}
			time.Sleep(time.Second)
			if _, ok := opened(t, tc.box, "c", value); ok {
				t.Errorf("%s: not expired", name)
			}
		}
	})
}

// An observer learns neither the value nor its exact length, and equal values look different.
func TestEncryptCookiesHides(t *testing.T) {
	box := &middleware.EncryptCookies{Keys: [][]byte{keyA}}
	lengths := map[int]bool{}
	seen := map[string]bool{}
	for n := range 23 {
		value, _ := sealed(t, box, web.Cookie{Name: "c", Value: strings.Repeat("s", n)})
		raw, _ := base64.RawURLEncoding.DecodeString(value)
		if bytes.Contains(raw, []byte("ssss")) {
			t.Errorf("%q shows the value", value)
		}
		lengths[len(value)] = true
		again, _ := sealed(t, box, web.Cookie{Name: "c", Value: strings.Repeat("s", n)})
		if again == value || seen[value[:32]] {
			t.Errorf("%q was made twice", value)
		}
		seen[value[:32]] = true
	}
	if len(lengths) != 1 {
		t.Errorf("values of 0 to 22 bytes have %d different lengths", len(lengths))
	}
}

func TestCookiesTooLong(t *testing.T) {
	bothBoxes(t, func(t *testing.T, of func(keys ...[]byte) cookieBox) {
		app := newApp()
		var failed error
		var line string
		app.Get("/{n<int>}", func(c *web.Ctx) error {
			n, _ := web.Params[int](c, "n")
			failed = of(keyA).Set(c, web.Cookie{Name: "c", Value: strings.Repeat("x", n), MaxAge: 1 << 30, Domain: "example.com", Path: "/path", Partitioned: true})
			line = c.RespHeader("Set-Cookie")
			return nil
		})
		for _, n := range []string{"100", "2700", "2800", "2850", "2900", "2950", "3000", "4096", "5000", "100000"} {
			a := ask(t, app, "GET", "/"+n)
			line = a.header.Get("Set-Cookie")
			if failed == nil && (len(line) > 4096 || line == "") || failed != nil && (!errors.Is(failed, middleware.ErrCookieTooLong) || line != "") {
				t.Errorf("%s bytes: %v, and the cookie has %d bytes", n, failed, len(line))
			}
			if n == "2700" && failed != nil || n == "3000" && failed == nil {
				t.Errorf("%s bytes: %v", n, failed)
			}
		}
	})
}

func TestCookiesDelete(t *testing.T) {
	bothBoxes(t, func(t *testing.T, of func(keys ...[]byte) cookieBox) {
		value, line := sealed(t, of(keyA), web.Cookie{Name: "c", Value: "v", MaxAge: -1})
		if value != "" || !strings.Contains(strings.ToLower(line), "expires=") && !strings.Contains(strings.ToLower(line), "max-age=0") {
			t.Errorf("Set-Cookie: %s", line)
		}
	})
}

func TestCookieSettings(t *testing.T) {
	app := newApp()
	app.Get("/", func(c *web.Ctx) error {
		for _, keys := range [][][]byte{nil, {}, {nil}, {make([]byte, 31)}, {keyA, make([]byte, 16)}} {
			mustPanic(t, "at least 32", func() { (&middleware.SignedCookies{Keys: keys}).Get(c, "c") })
			mustPanic(t, "at least 32", func() { (&middleware.EncryptCookies{Keys: keys}).Set(c, web.Cookie{Name: "c"}) })
		}
		return (&middleware.SignedCookies{Keys: [][]byte{keyA}, Insecure: true, ReadableByScripts: true}).Set(c, web.Cookie{Name: "c", Value: "v"})
	})
	if line := strings.ToLower(ask(t, app, "GET", "/").header.Get("Set-Cookie")); line == "" || strings.Contains(line, "secure") || strings.Contains(line, "httponly") {
		t.Errorf("Set-Cookie: %s", line)
	}
}
