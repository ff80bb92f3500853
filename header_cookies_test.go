package gallop

import (
	"fmt"
	"strings"
	"testing"
)

func TestRequestCookies(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(h *RequestHeader)
		want  string
	}{
		{"set", func(h *RequestHeader) { h.SetCookie("a", "1"); h.SetCookie("b", "2") }, "Cookie: a=1; b=2\n"},
		{"set in place of", func(h *RequestHeader) {
			h.Set("Cookie", "a=1; b=2; a=3")
			h.SetCookie("a", "4")
		}, "Cookie: b=2; a=4\n"},
		{"added as a field", func(h *RequestHeader) {
			h.Add("Cookie", "a=1")
			h.Add("cookie", "b=2; c=3")
			h.Add("Cookie", "")
		}, "Cookie: a=1; b=2; c=3\n"},
		{"set as a field", func(h *RequestHeader) { h.SetCookie("a", "1"); h.Set("Cookie", "b=2") }, "Cookie: b=2\n"},
		{"deleted", func(h *RequestHeader) { h.Set("Cookie", "a=1; b=2; a=3"); h.DelCookie("a") }, "Cookie: b=2\n"},
		{"the last deleted", func(h *RequestHeader) { h.SetCookie("a", "1"); h.DelCookie("a") }, ""},
		{"none deleted", func(h *RequestHeader) { h.Set("Cookie", "a=1;b=2"); h.DelCookie("A") }, "Cookie: a=1;b=2\n"},
		{"all deleted", func(h *RequestHeader) { h.SetCookie("a", "1"); h.SetCookie("b", "2"); h.DelAllCookies() }, ""},
		{"refused", func(h *RequestHeader) {
			h.SetCookie("a", "1")
			h.SetCookie("a", "2; b=3")
			h.SetCookie("c d", "4")
		}, "Cookie: a=1\n"},
		{"on two lines", func(h *RequestHeader) {
			readRequest(h, "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=1; b=2\r\ncookie: a=3\r\n\r\n")
			h.Del("Host")
			h.SetCookie("c", "4")
		}, "Cookie: a=1; b=2; a=3; c=4\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h RequestHeader
			c.build(&h)
			if got := lines(&h.header); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestPeekingAtRequestCookies(t *testing.T) {
	var h RequestHeader
	readRequest(&h, "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=1; b=\"2 3\";;alone; e=\r\nCookie: a=4; z=5\r\n\r\n")
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

func cookie(key, value, path string) *Cookie {
	var c Cookie
	c.SetKey(key)
	c.SetValue(value)
	c.SetPath(path)
	return &c
}

func TestResponseCookies(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(h *ResponseHeader)
		want  string
	}{
		{"set", func(h *ResponseHeader) {
			h.SetCookie(cookie("a", "1", "/"))
			h.SetCookie(cookie("b", "2", "/x"))
		}, "Set-Cookie: a=1; path=/\nSet-Cookie: b=2; path=/x\n"},
		{"set in place of", func(h *ResponseHeader) {
			h.Add("Set-Cookie", "a=1")
			h.Add("Set-Cookie", "b=2")
			h.Add("set-cookie", "a=3")
			h.SetCookie(cookie("a", "4", "/"))
		}, "Set-Cookie: a=4; path=/\nSet-Cookie: b=2\n"},
		{"without a key", func(h *ResponseHeader) { h.SetCookie(cookie("no good", "1", "/")) }, ""},
		{"deleted", func(h *ResponseHeader) {
			h.Add("Set-Cookie", "a=1")
			h.Add("Set-Cookie", "ab=2")
			h.Add("Set-Cookie", "a=3")
			h.DelCookie("a")
		}, "Set-Cookie: ab=2\n"},
		{"all deleted", func(h *ResponseHeader) {
			h.Add("Set-Cookie", "a=1")
			h.Add("Set-Cookie", "b=2")
			h.DelAllCookies()
		}, ""},
		{"deleted at the client", func(h *ResponseHeader) {
			h.Add("Set-Cookie", "b=2")
			h.Add("Set-Cookie", "a=1")
			h.DelClientCookie("a")
		}, "Set-Cookie: b=2\nSet-Cookie: a=; expires=Tue, 10 Nov 2009 23:00:00 GMT\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h ResponseHeader
			c.build(&h)
			if got := lines(&h.header); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestPeekingAtResponseCookies(t *testing.T) {
	var h ResponseHeader
	h.SetCookie(cookie("a", "1", "/"))
	h.SetCookie(cookie("b", "2", "/x"))
	h.Add("Set-Cookie", "bad=\"")
	if got := string(h.PeekCookie("b")); got != "b=2; path=/x" {
		t.Errorf("%q", got)
	}
	if h.PeekCookie("c") != nil {
		t.Error("found what is not there")
	}
	c := cookie("b", "", "")
	if !h.Cookie(c) || string(c.Value()) != "2" || string(c.Path()) != "/x" {
		t.Errorf("%s", c)
	}
	if h.Cookie(cookie("c", "", "")) || h.Cookie(cookie("bad", "", "")) {
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
