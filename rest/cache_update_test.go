package rest_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

// updateStep is a GET, some time after the one before, of which the server may be asked.
type updateStep struct {
	after  time.Duration
	header string // of the request: "Name: value", or ""
	want   string // the body; "304" is the error that says so
	asked  string // the validator that arrives; "none" without one, "" if the server is not asked
}

// The table says how a later response changes a cached one.
func TestCacheIsUpdated(t *testing.T) {
	const etag, old = `ETag: "x"`, "Cache-Control: max-age=60"
	const dated = "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT"
	first, second := text(200, "1", etag), text(200, "2", etag)
	for _, tc := range []struct {
		name   string
		script []gallop.RequestHandler
		steps  []updateStep
	}{
		{
			"not to be kept any longer (RFC 9111 §5.2.2.5)", []gallop.RequestHandler{first, text(304, "", etag, "Cache-Control: no-store"), second},
			[]updateStep{{want: "1", asked: "none"}, {want: "1", asked: `"x"`}, {want: "2", asked: "none"}},
		},
		{
			"fresh, but not to be kept", []gallop.RequestHandler{first, text(304, "", etag, "Cache-Control: max-age=60, no-store"), second},
			[]updateStep{{want: "1", asked: "none"}, {want: "1", asked: `"x"`}, {want: "2", asked: "none"}},
		},
		{
			"varying by anything (RFC 9111 §4.1)", []gallop.RequestHandler{first, text(304, "", etag, "Vary: *"), second},
			[]updateStep{{want: "1", asked: "none"}, {want: "1", asked: `"x"`}, {want: "2", asked: "none"}},
		},
		{
			"always to be asked about", []gallop.RequestHandler{first, text(304, "", etag, "Cache-Control: no-cache, max-age=60")},
			[]updateStep{{want: "1", asked: "none"}, {want: "1", asked: `"x"`}, {want: "1", asked: `"x"`}},
		},
		{
			"varying by more", []gallop.RequestHandler{first, text(304, "", etag, old, "Vary: X-Request-Id"), second},
			[]updateStep{
				{want: "1", asked: "none"}, {header: "X-Request-Id: a", want: "1", asked: `"x"`}, {header: "X-Request-Id: a", want: "1"},
				{header: "X-Request-Id: b", want: "2", asked: "none"},
			},
		},
		{
			"varying by less", []gallop.RequestHandler{text(200, "1", etag, "Vary: X-Request-Id"), text(304, "", etag, old, "Vary: Accept")},
			[]updateStep{{header: "X-Request-Id: a", want: "1", asked: "none"}, {header: "X-Request-Id: a", want: "1", asked: `"x"`}, {want: "1"}},
		},
		{
			"of another content (RFC 9111 §4.3.4)", []gallop.RequestHandler{first, text(304, "", `ETag: "y"`, old), second},
			[]updateStep{{want: "1", asked: "none"}, {want: "1", asked: `"x"`}, {want: "2", asked: "none"}},
		},
		{
			"of the same content, weakly", []gallop.RequestHandler{text(200, "1", `ETag: W/"x"`), text(304, "", etag, old), text(304, "", etag)},
			[]updateStep{{want: "1", asked: "none"}, {want: "1", asked: `W/"x"`}, {after: time.Minute, want: "1", asked: `W/"x"`}},
		},
		{
			"of whose content nothing was known but a date", []gallop.RequestHandler{text(200, "1", dated), text(304, "", `ETag: "y"`)},
			[]updateStep{{want: "1", asked: "none"}, {want: "1", asked: "none"}, {want: "1", asked: "none"}},
		},
		{
			"that nobody asked about", []gallop.RequestHandler{text(200, "1", old), text(304, ""), second},
			[]updateStep{{want: "1", asked: "none"}, {after: time.Minute, want: "304", asked: "none"}, {want: "2", asked: "none"}},
		},
		{
			"without a date (RFC 9110 §6.6.1)", []gallop.RequestHandler{text(200, "1", etag, old), undated(304, etag)},
			[]updateStep{{want: "1", asked: "none"}, {after: time.Minute, want: "1", asked: `"x"`}, {after: 59 * time.Second, want: "1"}},
		},
		{
			"whose place another took that is not to be kept", []gallop.RequestHandler{text(200, "1", etag, old), text(200, "2", "Cache-Control: no-store"), text(200, "3")},
			[]updateStep{{want: "1", asked: "none"}, {header: "Cache-Control: no-cache", want: "2", asked: `"x"`}, {want: "3", asked: "none"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asked string
			script := make([]gallop.RequestHandler, len(tc.script))
			for i, h := range tc.script {
				script[i] = func(ctx *gallop.RequestCtx) {
					asked = "none"
					if tag := ctx.Request.Header.Peek("If-None-Match"); len(tag) > 0 {
						asked = string(tag)
					}
					h(ctx)
				}
			}
			eachScript(t, script, func(t *testing.T, a *api, over rest.Option) {
				c := a.client(over, rest.WithCache(1<<20))
				for i, step := range tc.steps {
					time.Sleep(step.after)
					asked = ""
					r := c.Request().SetContext(t.Context())
					if name, value, ok := strings.Cut(step.header, ": "); ok {
						r.SetHeader(name, value)
					}
					var body bytes.Buffer
					resp, err := r.Get("a", &body)
					if err != nil && as[*rest.APIError](t, err).StatusCode == 304 {
						body.WriteString("304")
					} else if err != nil {
						t.Fatal(i, err)
					}
					if body.String() != step.want || asked != step.asked {
						t.Errorf("step %d: got %s, and the server was asked %s, want %+v; %v", i, &body, asked, step, resp)
					}
				}
			})
		})
	}
}

// undated is text of a server without a clock.
func undated(status int, fields ...string) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) {
		answer(ctx, status, "", fields...)
		ctx.Response.Header.SetNoDefaultDate(true)
	}
}

// A GET with a body is a request of its own, and the entry for the URL is no response to it.
func TestCacheKnowsBodies(t *testing.T) {
	h := func(ctx *gallop.RequestCtx) {
		answer(ctx, 200, string(ctx.PostBody()), "Cache-Control: max-age=60", `ETag: "x"`)
	}
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithCache(1<<20))
		for _, want := range []string{"", "a", "b", ""} {
			r := c.Request().SetContext(t.Context())
			if want != "" {
				r.SetBody([]byte(want))
			}
			var got bytes.Buffer
			if _, err := r.Get("search", &got); err != nil || got.String() != want {
				t.Errorf("got %q, %v, want %q", &got, err, want)
			}
		}
		if n := a.calls.Load(); n != 3 {
			t.Errorf("%d requests", n)
		}
	})
}

// An entry in a coding that the caller requested itself is not used for calls that want a decoded body, even if the
// server has omitted Vary.
func TestCacheKnowsCodings(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte("text"))
	w.Close()
	h := text(200, z.String(), "Cache-Control: max-age=60", "Content-Encoding: gzip", `ETag: "x"`)
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithCache(1<<20))
		for i, own := range []bool{true, true, false, false} {
			r := c.Request().SetContext(t.Context())
			want := "text"
			if own {
				r.SetHeader("Accept-Encoding", "gzip")
				want = z.String()
			}
			var got bytes.Buffer
			if resp, err := r.Get("a", &got); err != nil || got.String() != want || resp.FromCache != (i%2 == 1) {
				t.Errorf("%d: %q, %v", i, &got, err)
			}
		}
	})
}

// A body that is decoded while it arrives is cached as well, although nobody reads past the value.
func TestCacheKeepsLongLists(t *testing.T) {
	for _, body := range []string{"[" + strings.Repeat("1,", 1<<20) + "1]", `{"login":"` + strings.Repeat("a", 2<<20) + `"}`} {
		eachTransport(t, text(200, body, "Cache-Control: max-age=60"), func(t *testing.T, a *api, over rest.Option) {
			c := a.client(over, rest.WithCache(64<<20))
			for i := range 2 {
				v := any(new([]int))
				if body[0] == '{' {
					v = new(gopher)
				}
				if resp, err := c.Request().SetContext(t.Context()).Get("a", v); err != nil || resp.FromCache != (i == 1) {
					t.Errorf("%.9s: %d: %v, %v", body, i, resp.FromCache, err)
				}
			}
		})
	}
}

// An entry that is too large evicts no other, and many responses of one URL evict the oldest of them.
func TestCacheMakesRoom(t *testing.T) {
	a := serve(t, func(ctx *gallop.RequestCtx) {
		fields := strings.Repeat("x", ctx.QueryArgs().GetUintOrZero("fields"))
		answer(ctx, 200, strings.Repeat("x", ctx.QueryArgs().GetUintOrZero("body")), "Cache-Control: max-age=60", "X-Long: "+fields, "Vary: X-Request-Id")
	})
	c := a.client(rest.WithCache(32 << 10))
	cached := func(path, id string) bool {
		resp, err := c.Request().SetHeader("X-Request-Id", id).Get(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp.FromCache
	}
	cached("a", "1")
	for range 2 {
		if cached("a?fields=40000", "1") {
			t.Error("what has no room is kept")
		}
	}
	if !cached("a", "1") {
		t.Error("what has no room has taken it")
	}
	ids := []string{"1", "2", "3", "4", "5", "6"}
	for _, id := range ids { // of which three have room
		cached("a?body=8000", id)
	}
	for i, id := range ids {
		if i >= 3 && !cached("a?body=8000", id) {
			t.Errorf("%s was used last, and is not there", id)
		}
	}
	if cached("a?body=8000", "1") {
		t.Error("the oldest is there")
	}
}
