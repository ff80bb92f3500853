package messages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestRequestCookies(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(h *gallop.RequestHeader)
		want  string
	}{
		{"set", func(h *gallop.RequestHeader) { h.SetCookie("a", "1"); h.SetCookie("b", "2") }, "Cookie: a=1; b=2\n"},
		{"set in place of", func(h *gallop.RequestHeader) {
			h.Set("Cookie", "a=1; b=2; a=3")
			h.SetCookie("a", "4")
		}, "Cookie: b=2; a=4\n"},
		{"added as a field", func(h *gallop.RequestHeader) {
			h.Add("Cookie", "a=1")
			h.Add("cookie", "b=2; c=3")
			h.Add("Cookie", "")
		}, "Cookie: a=1; b=2; c=3\n"},
		{"set as a field", func(h *gallop.RequestHeader) { h.SetCookie("a", "1"); h.Set("Cookie", "b=2") }, "Cookie: a=1; b=2\n"},
		{"set as a field, in bytes", func(h *gallop.RequestHeader) {
			h.SetBytesK([]byte("Cookie"), "a=1")
			h.SetBytesV("cookie", []byte("b=2;c=3"))
			h.SetBytesKV([]byte("COOKIE"), []byte("a=4"))
			h.SetCanonical([]byte("Cookie"), []byte("d=5"))
		}, "Cookie: a=1; b=2; c=3; a=4; d=5\n"},
		{"set again", func(h *gallop.RequestHeader) {
			h.Set("Cookie", "a=1")
			h.Del("cookie")
			h.Set("Cookie", "b=2")
		}, "Cookie: b=2\n"},
		{"set to nothing", func(h *gallop.RequestHeader) { h.Set("Cookie", ""); h.Set("Cookie", " ; ;") }, ""},
		{"set with values that may not be", func(h *gallop.RequestHeader) {
			h.Set("Cookie", `a=x\y; b=2; c={"j":1}; d="; e="5"`)
		}, "Cookie: b=2; e=\"5\"\n"},
		{"set without special fields", func(h *gallop.RequestHeader) {
			h.DisableSpecialHeader()
			h.Set("Cookie", "a=1")
			h.Set("Cookie", "b=2")
		}, "Cookie: b=2\n"},
		{"Set-Cookie in a request", func(h *gallop.RequestHeader) { h.Set("Set-Cookie", "a=1"); h.Set("Set-Cookie", "b=2") }, "Set-Cookie: b=2\n"},
		{"deleted", func(h *gallop.RequestHeader) { h.Set("Cookie", "a=1; b=2; a=3"); h.DelCookie("a") }, "Cookie: b=2\n"},
		{"the last deleted", func(h *gallop.RequestHeader) { h.SetCookie("a", "1"); h.DelCookie("a") }, ""},
		{"none deleted", func(h *gallop.RequestHeader) { h.Set("Cookie", "a=1;b=2"); h.DelCookie("A") }, "Cookie: a=1; b=2\n"},
		{"all deleted", func(h *gallop.RequestHeader) { h.SetCookie("a", "1"); h.SetCookie("b", "2"); h.DelAllCookies() }, ""},
		{"refused", func(h *gallop.RequestHeader) {
			h.SetCookie("a", "1")
			h.SetCookie("a", "2; b=3")
			h.SetCookie("c d", "4")
		}, "Cookie: a=1\n"},
		{"on two lines", func(h *gallop.RequestHeader) {
			wiretest.ReadHead(h, "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=1; b=2\r\ncookie: a=3\r\n\r\n")
			h.Del("Host")
			h.SetCookie("c", "4")
		}, "Cookie: a=1; b=2; a=3; c=4\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h gallop.RequestHeader
			c.build(&h)
			if got := lines(&h); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// fasthttp finds no cookie whose value has a backslash, or a quote inside.
func TestRequestCookiesThatMayNotBe(t *testing.T) {
	var h gallop.RequestHeader
	wiretest.ReadHead(&h, "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=x\\y; b={\"j\":1}; a=2; c=\"3\"; d=\"\r\n\r\n")
	for name, want := range map[string]string{"a": "2", "b": "", "c": "3", "d": ""} {
		if got := h.Cookie(name); string(got) != want || (got == nil) != (want == "") {
			t.Errorf("Cookie(%q) = %q, want %q", name, got, want)
		}
	}
	if got := string(h.Peek("Cookie")); got != `a=x\y; b={"j":1}; a=2; c="3"; d="` {
		t.Errorf("Peek: %s", got)
	}
}

func TestPeekingAtRequestCookies(t *testing.T) {
	var h gallop.RequestHeader
	wiretest.ReadHead(&h, "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=1; b=\"2 3\";;alone; e=\r\nCookie: a=4; z=5\r\n\r\n")
	for name, want := range map[string]string{"a": "1", "b": "2 3", "": "alone", "z": "5", "e": ""} {
		if got := h.Cookie(name); got == nil || string(got) != want {
			t.Errorf("Cookie(%q) = %q", name, got)
		}
	}
	if h.Cookie("A") != nil || h.CookieBytes([]byte("x")) != nil {
		t.Error("found what is not there")
	}
	var all, visited []string
	for name, value := range h.Cookies() {
		all = append(all, fmt.Sprintf("%s=%s", name, value))
	}
	h.VisitAllCookie(func(name, value []byte) { visited = append(visited, fmt.Sprintf("%s=%s", name, value)) })
	if got := strings.Join(all, "|"); got != "a=1|b=2 3|=alone|e=|a=4|z=5" || got != strings.Join(visited, "|") {
		t.Errorf("%s\n%s", all, visited)
	}
	for range h.Cookies() {
		break
	}
}

func cookieOf(key, value, path string) *gallop.Cookie {
	var c gallop.Cookie
	c.SetKey(key)
	c.SetValue(value)
	c.SetPath(path)
	return &c
}

func TestResponseCookies(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(h *gallop.ResponseHeader)
		want  string
	}{
		{"set", func(h *gallop.ResponseHeader) {
			h.SetCookie(cookieOf("a", "1", "/"))
			h.SetCookie(cookieOf("b", "2", "/x"))
		}, "Set-Cookie: a=1; path=/\nSet-Cookie: b=2; path=/x\n"},
		{"set in place of", func(h *gallop.ResponseHeader) {
			h.Add("Set-Cookie", "a=1")
			h.Add("Set-Cookie", "b=2")
			h.Add("set-cookie", "a=3")
			h.SetCookie(cookieOf("a", "4", "/"))
		}, "Set-Cookie: a=4; path=/\nSet-Cookie: b=2\n"},
		{"set as a field", func(h *gallop.ResponseHeader) {
			h.SetCookie(cookieOf("a", "1", "/"))
			h.Set("Set-Cookie", "b=2; path=/x")
			h.SetBytesK([]byte("set-cookie"), "c=3")
			h.SetBytesV("SET-COOKIE", []byte("d=4"))
			h.SetBytesKV([]byte("Set-Cookie"), []byte("a=5"))
			h.SetCanonical([]byte("Set-Cookie"), []byte("e=6"))
		}, "Set-Cookie: a=1; path=/\nSet-Cookie: b=2; path=/x\nSet-Cookie: c=3\nSet-Cookie: d=4\nSet-Cookie: a=5\nSet-Cookie: e=6\n"},
		{"set again", func(h *gallop.ResponseHeader) {
			h.Set("Set-Cookie", "a=1")
			h.Set("Set-Cookie", "b=2")
			h.Del("set-cookie")
			h.Set("Set-Cookie", "c=3")
		}, "Set-Cookie: c=3\n"},
		{"Cookie in a response", func(h *gallop.ResponseHeader) { h.Set("Cookie", "a=1"); h.Set("Cookie", "b=2") }, "Cookie: b=2\n"},
		{"without a key", func(h *gallop.ResponseHeader) { h.SetCookie(cookieOf("no good", "1", "/")) }, ""},
		{"deleted", func(h *gallop.ResponseHeader) {
			h.Add("Set-Cookie", "a=1")
			h.Add("Set-Cookie", "ab=2")
			h.Add("Set-Cookie", "a=3")
			h.DelCookie("a")
		}, "Set-Cookie: ab=2\n"},
		{"all deleted", func(h *gallop.ResponseHeader) {
			h.Add("Set-Cookie", "a=1")
			h.Add("Set-Cookie", "b=2")
			h.DelAllCookies()
		}, ""},
		{"deleted at the client", func(h *gallop.ResponseHeader) {
			h.Add("Set-Cookie", "b=2")
			h.Add("Set-Cookie", "a=1")
			h.DelClientCookie("a")
		}, "Set-Cookie: b=2\nSet-Cookie: a=; expires=Tue, 10 Nov 2009 23:00:00 GMT\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h gallop.ResponseHeader
			c.build(&h)
			if got := lines(&h); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestPeekingAtResponseCookies(t *testing.T) {
	var h gallop.ResponseHeader
	h.SetCookie(cookieOf("a", "1", "/"))
	h.SetCookie(cookieOf("b", "2", "/x"))
	h.Add("Set-Cookie", "bad=\"")
	if got := string(h.PeekCookie("b")); got != "b=2; path=/x" {
		t.Errorf("%q", got)
	}
	for how, got := range map[string][]byte{
		"Peek": h.Peek("set-cookie"), "PeekBytes": h.PeekBytes([]byte("Set-Cookie")), "PeekCanonical": h.PeekCanonical([]byte("Set-Cookie")),
	} {
		if string(got) != "a=1; path=/; b=2; path=/x; bad=\"" {
			t.Errorf("%s: %q", how, got)
		}
	}
	if got := h.PeekAll("Set-Cookie"); len(got) != 3 || string(got[1]) != "b=2; path=/x" {
		t.Errorf("PeekAll: %q", got)
	}
	if h.PeekCookie("c") != nil || new(gallop.ResponseHeader).Peek("Set-Cookie") != nil {
		t.Error("found what is not there")
	}
	c := cookieOf("b", "", "")
	if !h.Cookie(c) || string(c.Value()) != "2" || string(c.Path()) != "/x" {
		t.Errorf("%s", c)
	}
	if h.Cookie(cookieOf("c", "", "")) || h.Cookie(cookieOf("bad", "", "")) {
		t.Error("there is no such cookie")
	}
	var all, visited []string
	for name, value := range h.Cookies() {
		all = append(all, fmt.Sprintf("%s:%s", name, value))
	}
	h.VisitAllCookie(func(name, value []byte) { visited = append(visited, fmt.Sprintf("%s:%s", name, value)) })
	if got := strings.Join(all, "|"); got != `a:a=1; path=/|b:b=2; path=/x|bad:bad="` || got != strings.Join(visited, "|") {
		t.Errorf("%s\n%s", all, visited)
	}
}
