package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gallop-http/gallop"
)

// header returns a header of handler's response to a request for "/". Several lines are joined by "|".
func header(t *testing.T, name string, handler func(c *Ctx), fields ...string) string {
	t.Helper()
	app := New(Config{})
	app.Get("/", func(c *Ctx) error { handler(c); return nil })
	var lines []string
	for _, line := range serve(app, "/", fields...).Response.Header.PeekAll(name) {
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "|")
}

func TestFields(t *testing.T) {
	for name, test := range map[string]struct {
		field   string
		handler func(c *Ctx)
		want    string
	}{
		"append":           {"X-L", func(c *Ctx) { c.Append("X-L", "a", "b").Append("x-l", "A", "c") }, "a, b, c"},
		"append to lines":  {"X-L", func(c *Ctx) { c.RequestCtx().Response.Header.Add("X-L", `"a,b"`); c.Append("X-L", "a", `"a,b"`) }, `"a,b", a`},
		"append nothing":   {"X-L", func(c *Ctx) { c.Append("X-L") }, ""},
		"location":         {"Location", func(c *Ctx) { c.Location("/a b?c=%20é\r\nX: y") }, "/a%20b?c=%20%C3%A9%0D%0AX:%20y"},
		"links":            {"Link", func(c *Ctx) { c.Links(Link{"/n>", "next"}, Link{"/l", `a"b`}) }, `</n%3E>; rel="next", </l>; rel="a\"b"`},
		"attachment":       {"Content-Disposition", func(c *Ctx) { c.Attachment("") }, "attachment"},
		"with a name":      {"Content-Disposition", func(c *Ctx) { c.Attachment(`../a"b.pdf`) }, `attachment; filename="a\"b.pdf"`},
		"behind backslash": {"Content-Disposition", func(c *Ctx) { c.Attachment(`c:\x.txt`) }, `attachment; filename="x.txt"`},
		"other letters":    {"Content-Disposition", func(c *Ctx) { c.Attachment("é 1\r\n.txt") }, `attachment; filename="_ 1.txt"; filename*=UTF-8''%C3%A9%201%0D%0A.txt`},
		"its type":         {"Content-Type", func(c *Ctx) { c.Attachment("x.csv") }, "text/csv; charset=utf-8"},
		"etag":             {"Etag", func(c *Ctx) { c.ETag(`a "b`) }, `"ab"`},
		"weak etag":        {"Etag", func(c *Ctx) { c.WeakETag("a") }, `W/"a"`},
		"last modified":    {"Last-Modified", func(c *Ctx) { c.LastModified(time.Time{}); c.LastModified(time.Unix(784111777, 0)) }, "Sun, 06 Nov 1994 08:49:37 GMT"},
		"read again": {"X-B", func(c *Ctx) {
			c.SetHeader("X-A", "v")
			c.SetHeader("X-B", c.RespHeader("x-a")+c.RespHeader("X-C", "d"))
		}, "vd"},
		"early hints": {"Link", func(c *Ctx) { c.EarlyHints("</a.css>; rel=preload") }, "</a.css>; rel=preload"},
	} {
		if got := header(t, test.field, test.handler); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestCookies(t *testing.T) {
	for name, test := range map[string]struct {
		cookie Cookie
		want   string
	}{
		"plain":      {Cookie{Name: "a", Value: "b"}, "a=b; path=/; SameSite=Lax"},
		"everything": {Cookie{Name: "a", Value: "b", Path: "/p", Domain: "x.com", MaxAge: 5, HTTPOnly: true, Secure: true, SameSite: gallop.CookieSameSiteStrictMode}, "a=b; max-age=5; domain=x.com; path=/p; HttpOnly; secure; SameSite=Strict"},
		"none":       {Cookie{Name: "a", SameSite: gallop.CookieSameSiteNoneMode}, "a=; path=/; secure; SameSite=None"},
		"host":       {Cookie{Name: "__Host-a", Value: "b", Path: "/p", Domain: "x.com"}, "__Host-a=b; path=/; secure; SameSite=Lax"},
		"secure":     {Cookie{Name: "__Secure-a", Value: "b"}, "__Secure-a=b; path=/; secure; SameSite=Lax"},
		"any case":   {Cookie{Name: "__HOST-a", Value: "b", Path: "/p", Domain: "x.com"}, "__HOST-a=b; path=/; secure; SameSite=Lax"},
		"bad value":  {Cookie{Name: "a", Value: "b; Domain=evil"}, "web: the cookie has an empty name or bytes that are not allowed in a cookie"},
		"bad name":   {Cookie{Name: "a b"}, "web: the cookie has an empty name or bytes that are not allowed in a cookie"},
		"bad path":   {Cookie{Name: "a", Path: "/;x"}, "web: the cookie has an empty name or bytes that are not allowed in a cookie"},
		"bad domain": {Cookie{Name: "a", Domain: "x;y"}, "web: the cookie has an empty name or bytes that are not allowed in a cookie"},
	} {
		var err error
		got := header(t, "Set-Cookie", func(c *Ctx) { err = c.SetCookie(test.cookie) })
		if err != nil {
			got += err.Error()
		}
		if !strings.EqualFold(got, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	got := header(t, "Set-Cookie", func(c *Ctx) { c.ClearCookie("a"); c.SetCookie(Cookie{Name: "a", Value: "again"}); c.ClearCookie() }, "Cookie: b=1; c=2")
	cookies, _ := http.ParseSetCookie(strings.Split(got, "|")[1])
	if strings.Count(got, "|") != 2 || cookies.Name != "b" || cookies.MaxAge >= 0 || cookies.Expires.After(time.Now()) || cookies.Path != "/" {
		t.Error(got)
	}
}

// ClearCookie without names clears a limited number of cookies, however many the client sends.
func TestClearCookieHasABound(t *testing.T) {
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "c%d=;", i)
	}
	got := header(t, "Set-Cookie", func(c *Ctx) { c.ClearCookie() }, "Cookie: "+many.String())
	if n := strings.Count(got, "|") + 1; n != maxCleared {
		t.Errorf("%d cookies", n)
	}
}

func TestConditions(t *testing.T) {
	at := time.Unix(784111777, 0)
	for name, test := range map[string]struct {
		fields []string
		want   string
	}{
		"none":          {nil, "stale <nil>"},
		"same tag":      {[]string{`If-None-Match: "b", W/"a"`}, "fresh <nil>"},
		"other tag":     {[]string{`If-None-Match: "b"`, "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"}, "stale <nil>"},
		"tag with ,":    {[]string{`If-None-Match: "a,b"`}, "stale <nil>"},
		"any":           {[]string{"If-None-Match: *"}, "fresh <nil>"},
		"same date":     {[]string{"If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT"}, "fresh <nil>"},
		"earlier":       {[]string{"If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT"}, "stale <nil>"},
		"no date":       {[]string{"If-Modified-Since: soon"}, "stale <nil>"},
		"match":         {[]string{`If-Match: "a"`}, "stale <nil>"},
		"weak no match": {[]string{`If-Match: W/"a"`}, "stale web: 412 Precondition Failed"},
		"no match":      {[]string{`If-Match: "b"`}, "stale web: 412 Precondition Failed"},
		"changed":       {[]string{"If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT"}, "stale web: 412 Precondition Failed"},
	} {
		got := header(t, "X-Got", func(c *Ctx) {
			c.ETag("a").LastModified(at)
			state := "stale"
			if c.Fresh() != !c.Stale() {
				t.Error("neither")
			}
			if c.Fresh() {
				state = "fresh"
			}
			c.SetHeader("X-Got", fmt.Sprint(state, " ", c.Precondition()))
		}, test.fields...)
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	app := New(Config{})
	app.Get("/", func(c *Ctx) error { c.SendString("x"); c.ETag("a"); return c.NotModified() })
	if status, body, h := ask(t, app, "GET", "/"); status != 304 || body != "" || h.Get("Etag") != `"a"` || h.Get("Content-Type") != "" {
		t.Errorf("%d %q %v", status, body, h)
	}
}

func TestRange(t *testing.T) {
	for field, want := range map[string]string{
		"":                                    "[] <nil>",
		"bytes=0-":                            "[{0 9}] <nil>",
		"Bytes=2-3":                           "[{2 3}] <nil>",
		"bytes=-3":                            "[{7 9}] <nil>",
		"bytes=0-1, 5-6,8-":                   "[{0 1} {5 6} {8 9}] <nil>",
		"bytes=20-, 1-1":                      "[{1 1}] <nil>",
		"bytes=20-":                           "[] web: 416 Requested Range Not Satisfiable",
		"bytes=x":                             "[] web: 416 Requested Range Not Satisfiable",
		"bytes=":                              "[] web: 416 Requested Range Not Satisfiable",
		"bytes=-0":                            "[] web: 416 Requested Range Not Satisfiable",
		"items=1-2":                           "[] <nil>",
		"bytes 0-":                            "[] <nil>",
		"bytes=" + strings.Repeat("0-0,", 32): "[] <nil>",
	} {
		got := header(t, "X-Got", func(c *Ctx) { parts, err := c.Range(10); c.SetHeader("X-Got", fmt.Sprint(parts, " ", err)) }, "Range: "+field)
		if got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
	if got := header(t, "Content-Range", func(c *Ctx) { c.Range(10) }, "Range: bytes=20-"); got != "bytes */10" {
		t.Error(got)
	}
	const some, all = "[{0 1}] <nil>", "[] <nil>"
	old := time.Unix(784111777, 0)
	for name, test := range map[string]struct {
		method   string
		tag      string
		weak     bool
		modified time.Time
		fields   []string
		want     string
	}{
		"same tag":     {"GET", "a", false, old, []string{`If-Range: "a"`}, some},
		"other tag":    {"GET", "a", false, old, []string{`If-Range: "b"`}, all},
		"weak tag":     {"GET", "a", true, old, []string{`If-Range: W/"a"`}, all},
		"no validator": {"GET", "", false, time.Time{}, []string{`If-Range: "a"`}, all},
		"same date":    {"GET", "a", false, old, []string{"If-Range: Sun, 06 Nov 1994 08:49:37 GMT"}, some},
		"later date":   {"GET", "a", false, old, []string{"If-Range: Sun, 06 Nov 1994 08:49:38 GMT"}, all},
		"just now":     {"GET", "a", false, time.Now(), []string{"If-Range: " + time.Now().UTC().Format(http.TimeFormat)}, all},
		"two":          {"GET", "a", false, old, []string{`If-Range: "a"`, `If-Range: "a"`}, all},
		"two ranges":   {"GET", "a", false, old, []string{"Range: bytes=2-3"}, all},
		"no GET":       {"POST", "a", false, old, nil, all},
		"HEAD":         {"HEAD", "a", false, old, nil, all},
	} {
		app := New(Config{})
		app.Add(test.method, "/", func(c *Ctx) error {
			if test.weak {
				c.WeakETag(test.tag)
			} else if test.tag != "" {
				c.ETag(test.tag)
			}
			parts, err := c.LastModified(test.modified).Range(10)
			c.SetHeader("X-Got", fmt.Sprint(parts, " ", err))
			return nil
		})
		_, _, h := ask(t, app, test.method, "/", append(test.fields, "Range: bytes=0-1")...)
		if got := h.Get("X-Got"); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestRedirects(t *testing.T) {
	app := New(Config{})
	app.Get("/users/:name", says("")).As("user")
	app.Get("/*", func(c *Ctx) error {
		r := c.Redirect()
		switch c.Params("*") {
		case "to":
			return r.To("https://elsewhere.com/ä")
		case "307":
			return r.Status(307).To("/x")
		case "route":
			return r.Route("user", "name", "a/b")
		case "noroute":
			return r.Route("nobody")
		case "nowhere":
			return r.To("")
		case "back":
			return r.Back("/home")
		}
		return r.Local(c.Query("next"), "/home")
	})
	for _, test := range []struct{ target, referer, want string }{
		{"/to", "", "303 https://elsewhere.com/%C3%A4"},
		{"/307", "", "307 /x"},
		{"/route", "", "303 /users/a%2Fb"},
		{"/noroute", "", "500 "},
		{"/nowhere", "", "500 "},
		{"/back", "", "303 /home"},
		{"/back", "http://example.com/a?b=c", "303 /a?b=c"},
		{"/back", "https://EXAMPLE.com/a", "303 /a"},
		{"/back", "http://example.com", "303 /"},
		{"/back", "http://example.com:81/a", "303 /home"},
		{"/back", "http://evil.com/a", "303 /home"},
		{"/back", "http://example.com@evil.com/a", "303 /home"},
		{"/back", "http://example.com//evil.com", "303 /home"},
		{"/back", "http://example.com/\\evil.com", "303 /%5Cevil.com"},
		{"/back", "/a", "303 /home"},
		{"/back", "javascript:alert(1)", "303 /home"},
		{"/local?next=/a?b", "", "303 /a?b"},
		{"/local?next=//evil.com", "", "303 /home"},
		{"/local?next=/\\evil.com", "", "303 /home"},
		{"/local?next=/%09/evil.com", "", "303 /home"},
		{"/local?next=https://evil.com", "", "303 /home"},
		{"/local?next=evil", "", "303 /home"},
		{"/local", "", "303 /home"},
	} {
		response := &serve(app, test.target, "Referer: "+test.referer).Response
		if got := fmt.Sprintf("%d %s", response.StatusCode(), response.Header.Peek("Location")); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.target, test.referer, got, test.want)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a b%20.txt")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	app := New(Config{})
	app.Get("/file", func(c *Ctx) error { return c.SendFile(file) })
	app.Get("/dir", func(c *Ctx) error { return c.SendFile(dir) })
	app.Get("/none", func(c *Ctx) error { return c.SendFile(file + "x") })
	app.Get("/download", func(c *Ctx) error { return c.Download(file) })
	app.Get("/as", func(c *Ctx) error { return c.DownloadAs(file, "b.pdf") })
	app.Get("/missing", func(c *Ctx) error { return c.Download(file + "x") })
	files := fstest.MapFS{"x/y.html": {Data: []byte("<p>"), ModTime: time.Unix(784111777, 0)}}
	app.Get("/empty-segment", func(c *Ctx) error { return c.SendFile(dir + "//a b%20.txt") })
	app.Get("/empty-segment-in-fs", func(c *Ctx) error { return c.SendFS(files, "x//y.html") })
	app.Get("/fs/*", func(c *Ctx) error { return c.SendFS(files, c.Params("*")) })
	for target, want := range map[string]string{
		"/file": "200|content||text/plain; charset=utf-8", "/dir": "404|Not Found||text/plain; charset=utf-8", "/none": "404|Not Found||text/plain; charset=utf-8",
		"/download": `200|content|attachment; filename="a b%20.txt"|text/plain; charset=utf-8`, "/as": `200|content|attachment; filename="b.pdf"|application/pdf`,
		"/missing": "404|Not Found||text/plain; charset=utf-8", "/fs/x/y.html": "200|<p>||text/html; charset=utf-8", "/fs/x": "404|Not Found||text/plain; charset=utf-8",
		"/empty-segment": "404|Not Found||text/plain; charset=utf-8", "/empty-segment-in-fs": "404|Not Found||text/plain; charset=utf-8",
		"/fs/x/%2e%2e/%2e%2e/etc/passwd": "404|Not Found||text/plain; charset=utf-8",
	} {
		status, body, h := ask(t, app, "GET", target)
		if got := fmt.Sprintf("%d|%s|%s|%s", status, body, h.Get("Content-Disposition"), h.Get("Content-Type")); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	if status, body, _ := ask(t, app, "GET", "/file", "Range: bytes=1-2"); status != 206 || body != "on" {
		t.Errorf("%d %q", status, body)
	}
}

// Fields that say how the bytes of a body are to be read go with it.
func TestBodiesThatAreReplaced(t *testing.T) {
	app := New(Config{ErrorHandler: func(c *Ctx, err error) { c.Status(400).SendString("failed") }})
	files := fstest.MapFS{"f.html": {Data: []byte("<p>"), ModTime: time.Unix(784111777, 0)}}
	for name, replace := range map[string]func(c *Ctx) error{
		"error":    func(*Ctx) error { return ErrNotFound },
		"range":    func(c *Ctx) error { _, err := c.Range(10); return err },
		"redirect": func(c *Ctx) error { return c.Redirect().To("/x") },
		"status":   func(c *Ctx) error { return c.SendStatus(403) },
		"nothing":  func(c *Ctx) error { return c.SendStatus(204) },
		"file":     func(c *Ctx) error { return c.SendFS(files, "f.html") },
	} {
		app.Get("/"+name, func(c *Ctx) error {
			c.SetHeader("Content-Encoding", "gzip").SetHeader("Content-Length", "3").SetHeader("Content-Range", "bytes 0-2/10").SetHeader("Repr-Digest", "sha-256=:x:").SetHeader("X-Kept", "yes")
			c.Type("image/png").Send([]byte("\x1f\x8b\b"))
			return replace(c)
		})
	}
	for target, want := range map[string]string{
		"/error": "400 failed text/plain; charset=utf-8 ", "/range": "400 failed text/plain; charset=utf-8 bytes */10",
		"/redirect": "303   ", "/status": "403 Forbidden text/plain; charset=utf-8 ", "/nothing": "204  image/png ", "/file": "200 <p> text/html; charset=utf-8 ",
	} {
		status, body, h := ask(t, app, "GET", target, "Range: bytes=20-", "If-Range: \"other\"")
		if target == "/range" {
			status, body, h = ask(t, app, "GET", target, "Range: bytes=20-")
		}
		if got := fmt.Sprint(status, " ", body, " ", h.Get("Content-Type"), " ", h.Get("Content-Range")); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
		if h.Get("Content-Encoding")+h.Get("Repr-Digest") != "" || h.Get("X-Kept") != "yes" {
			t.Errorf("%s: %v", target, h)
		}
	}
}

func TestStreams(t *testing.T) {
	app := New(Config{Server: quiet()})
	app.Get("/reader", func(c *Ctx) error { return c.Type("txt").SendStream(strings.NewReader("read")) })
	app.Get("/sized", func(c *Ctx) error { return c.SendStreamSize(strings.NewReader("read"), 4) })
	app.Get("/writer", func(c *Ctx) error {
		c.Status(201).SetHeader("X-A", "b")
		return c.SendStreamWriter(func(w *bufio.Writer) error {
			fmt.Fprint(w, "one ")
			w.Flush()
			fmt.Fprint(w, c.Path()) // c is there while it is written
			return nil
		})
	})
	app.Get("/breaks", func(c *Ctx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) error { fmt.Fprint(w, "one"); w.Flush(); return errors.New("no more") })
	})
	app.Get("/write", func(c *Ctx) error { fmt.Fprint(c, 1); c.WriteString("2"); return nil })
	for target, want := range map[string]string{"/reader": "200 read -1", "/sized": "200 read 4", "/writer": "201 one /writer -1", "/write": "200 12 2"} {
		request, _ := http.NewRequest("GET", target, nil)
		response, err := app.Test(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		if got := fmt.Sprint(response.StatusCode, " ", string(body), " ", response.ContentLength); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	app.Get("/given-up", func(c *Ctx) error { c.SendStreamSize(strings.NewReader("read"), 4); return NewError(409) })
	if status, body, _ := ask(t, app, "GET", "/given-up"); status != 409 || body != "Conflict" {
		t.Errorf("an error behind a stream: %d %q", status, body)
	}
	request, _ := http.NewRequest("GET", "/breaks", nil)
	if _, err := app.Test(request); err == nil {
		t.Error("a broken stream looks whole")
	}
	if got := string(serve(app, "/writer").Response.Body()); got != "one /writer" {
		t.Errorf("without a server: %q", got)
	}
}
