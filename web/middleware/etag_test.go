package middleware_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func TestETag(t *testing.T) {
	app := newApp(middleware.ETag{}.Handler())
	app.Get("/", func(c *web.Ctx) error {
		c.SetHeader("Cache-Control", "max-age=5").SetHeader("Vary", "Accept").SetHeader("Content-Language", "en").SetHeader("Content-Location", "/it")
		return c.SendString("hello")
	})
	app.Get("/own", func(c *web.Ctx) error { c.SetHeader("ETag", `W/"v1,2"`); return c.SendString("hello") })
	app.Get("/stream", func(c *web.Ctx) error { c.RequestCtx().SetBodyStream(strings.NewReader("abc"), 3); return nil })
	app.Get("/tagged-stream", func(c *web.Ctx) error {
		c.SetHeader("ETag", `"s"`)
		c.RequestCtx().SetBodyStream(strings.NewReader("abc"), 3)
		return nil
	})
	app.Get("/empty", func(*web.Ctx) error { return nil })
	app.Get("/created", func(c *web.Ctx) error { return c.Status(201).SendString("hello") })
	app.Get("/error", func(*web.Ctx) error { return errors.New("x") })
	app.Post("/", says("hello"))

	first := ask(t, app, "GET", "/")
	tag := first.header.Get("ETag")
	if len(tag) != 24 || tag[0] != '"' || first.status != 200 || first.body != "hello" {
		t.Fatalf("%d %q, ETag %s", first.status, first.body, tag)
	}
	ask(t, app, "HEAD", "/").want(t, "ETag", tag)

	for _, tc := range []struct {
		name, method, target string
		status               int
		lines                string // of If-None-Match, separated by |
	}{
		{"the same", "GET", "/", 304, tag},
		{"weak", "GET", "/", 304, "W/" + tag},
		{"in a list", "GET", "/", 304, `"a", W/"b" ,` + tag + `, "c"`},
		{"in another line", "GET", "/", 304, `"a"|` + tag},
		{"empty members", "GET", "/", 304, `,, ` + tag},
		{"any", "GET", "/", 304, "*"},
		{"any with spaces", "GET", "/", 304, " * "},
		{"HEAD", "HEAD", "/", 304, tag},
		{"another", "GET", "/", 200, `"a"`},
		{"none", "GET", "/", 200, ""},
		{"part of it", "GET", "/", 200, tag[:10] + `"`},
		{"without quotes", "GET", "/", 200, strings.Trim(tag, `"`)},
		{"that does not end", "GET", "/", 200, strings.TrimSuffix(tag, `"`)},
		{"small w", "GET", "/", 200, "w/" + tag},
		{"any among others", "GET", "/", 200, `*, "a"`},
		{"behind what is no tag", "GET", "/", 200, "x, " + tag},
		{"a comma in a tag", "GET", "/own", 304, `"v1,2"`},
		{"halves of a tag", "GET", "/own", 200, `"v1", "2"`},
		{"a tagged stream", "GET", "/tagged-stream", 304, `"s"`},
		{"a stream", "GET", "/stream", 200, "*"},
		{"an empty body", "GET", "/empty", 200, "*"},
		{"another status", "GET", "/created", 201, "*"},
		{"an error", "GET", "/error", 500, "*"},
		{"another method", "POST", "/", 200, "*"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var fields []string
			if tc.lines != "" {
				for line := range strings.SplitSeq(tc.lines, "|") {
					fields = append(fields, "If-None-Match: "+line)
				}
			}
			a := ask(t, app, tc.method, tc.target, fields...)
			if a.status != tc.status || a.status == 304 && a.body != "" {
				t.Errorf("%d %q, want %d", a.status, a.body, tc.status)
			}
			if a.status == 304 && tc.target == "/" { // RFC 9110 §15.4.5
				for name, want := range map[string]string{
					"ETag": tag, "Cache-Control": "max-age=5", "Vary": "Accept", "Content-Location": "/it",
					"Content-Type": "", "Content-Length": "", "Content-Language": "",
				} {
					a.want(t, name, want)
				}
				if a.header.Get("Date") == "" {
					t.Error("no Date")
				}
			}
			if tc.target == "/stream" || tc.target == "/empty" || tc.status == 500 || tc.method == "POST" {
				a.want(t, "ETag", "")
			}
		})
	}
}

// A request whose If-Match fails is not told that it has what it asks for (RFC 9110 §13.2.2).
func TestETagAndIfMatch(t *testing.T) {
	app := newApp(middleware.ETag{}.Handler())
	app.Get("/", says("hello"))
	tag := ask(t, app, "GET", "/").header.Get("ETag")
	for match, want := range map[string]int{tag: 304, `"other"`: 200} {
		if a := ask(t, app, "GET", "/", "If-Match: "+match, "If-None-Match: "+tag); a.status != want {
			t.Errorf("If-Match: %s: %d, want %d", match, a.status, want)
		}
	}
}

func TestETagWeak(t *testing.T) {
	app := newApp(middleware.ETag{Weak: true}.Handler())
	app.Get("/", says("hello"))
	tag := ask(t, app, "GET", "/").header.Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) {
		t.Errorf("ETag %s", tag)
	}
	for _, line := range []string{tag, tag[2:]} {
		if a := ask(t, app, "GET", "/", "If-None-Match: "+line); a.status != 304 {
			t.Errorf("If-None-Match: %s: %d", line, a.status)
		}
	}
}

// In both orders a client that comes again is told that nothing has changed, and by a tag of what it has.
func TestETagAndCompress(t *testing.T) {
	for _, tc := range []struct {
		name string
		app  *web.App
		weak bool
	}{
		{"tags of what is compressed", newApp(middleware.ETag{}.Handler(), middleware.Compress{}.Handler()), false},
		{"tags of what is not", newApp(middleware.Compress{}.Handler(), middleware.ETag{}.Handler()), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.app.Get("/", says(long))
			coded := ask(t, tc.app, "GET", "/", "Accept-Encoding: gzip")
			plain := ask(t, tc.app, "GET", "/")
			tag := coded.header.Get("ETag")
			if strings.HasPrefix(tag, "W/") != tc.weak || tag == "" || tag == plain.header.Get("ETag") {
				t.Errorf("ETag %s, and without a coding %s", tag, plain.header.Get("ETag"))
			}
			again := ask(t, tc.app, "GET", "/", "Accept-Encoding: gzip", "If-None-Match: "+tag)
			if again.status != 304 || again.body != "" {
				t.Errorf("%d with %d bytes", again.status, len(again.body))
			}
			again.want(t, "Content-Encoding", "")
			again.want(t, "ETag", tag) // or caches do not know what it is about: RFC 9111 §4.3.4
			if tc.weak {
				again.want(t, "Vary", "Accept-Encoding")
			}
			tag = plain.header.Get("ETag")
			ask(t, tc.app, "GET", "/", "If-None-Match: "+tag).want(t, "ETag", tag)
		})
	}
}

func TestETagMaxBytes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		most, size int
		tagged     bool
	}{{0, 4 << 20, true}, {0, 4<<20 + 1, false}, {10, 10, true}, {10, 11, false}, {-1, 5 << 20, true}} {
		app := newApp(middleware.ETag{MaxBytes: tc.most})
		app.Get("/", says(strings.Repeat("x", tc.size)))
		if tag := ask(t, app, "GET", "/").header.Get("ETag"); (tag != "") != tc.tagged {
			t.Errorf("MaxBytes %d, %d bytes: ETag %q", tc.most, tc.size, tag)
		}
	}
}
