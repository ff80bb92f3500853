package http2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

// A handler sees pseudo-header fields as a request line and a Host header, and names with capital letters.
func TestNamesOfHeaders(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			h := &ctx.Request.Header
			fmt.Fprintf(ctx, "%s %s %s\n", ctx.Method(), ctx.RequestURI(), h.Protocol())
			fmt.Fprintf(ctx, "%v %v %v %v\n", h.IsHTTP11(), h.ConnectionClose(), ctx.IsTLS(), ctx.ConnRequestNum())
			fmt.Fprintf(ctx, "%s %s %s %s\n", ctx.Host(), h.Host(), ctx.URI().Scheme(), ctx.Path())
			for name, value := range h.All() {
				fmt.Fprintf(ctx, "%s: %s\n", name, value)
			}
			fmt.Fprintf(ctx, "%s %s %s", h.Cookie("a"), h.Cookie("c"), ctx.QueryArgs().Peek("q"))
		})
		scheme := "http"
		if w.tls {
			scheme = "https"
		}
		c := w.dial()
		for i, tt := range []struct {
			name  string
			lines []string
		}{
			{"authority", []string{":authority: example.com:8080"}},
			{"Host", []string{"host: example.com:8080"}},
			{"both", []string{":authority: example.com:8080", "host: example.com:8080"}},
		} {
			head := []string{":method: PATCH", ":scheme: " + scheme, ":path: /a/../b?q=1"}
			id := c.openRaw(true, slices.Concat(head, tt.lines, []string{"x-own-name: value", "cookie: a=1", "cookie: b=2; c=3"})...)
			want := fmt.Sprintf("PATCH /a/../b?q=1 HTTP/2.0\ntrue false %v %d\nexample.com:8080 example.com:8080 %s /b\n", w.tls, i+1, scheme) +
				"Host: example.com:8080\nX-Own-Name: value\nCookie: a=1; b=2; c=3\n1 3 1"
			if got := c.want(c.await(id), 200, string(c.streams[id].body)).body; string(got) != want {
				w.t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, want)
			}
		}
	})
}

// Without normalization, a handler sees names as they were sent.
func TestNamesAsGiven(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{DisableHeaderNamesNormalizing: true, Handler: func(ctx *gallop.RequestCtx) {
			ctx.Response.Header.Set("X-MIXED-Case", "sent")
			fmt.Fprintf(ctx, "%s %q", ctx.Request.Header.Peek("x-own"), ctx.Request.Header.PeekKeys())
		}})
		c := w.dial()
		st := c.get("/", "x-own: value")
		if !strings.HasPrefix(string(st.body), "value ") || !strings.Contains(string(st.body), `"x-own"`) {
			w.t.Errorf("%q", st.body)
		}
		if st.head.get("x-mixed-case") != "sent" { // HTTP/2 has only names in lower case
			w.t.Errorf("%v", st.head)
		}
	})
}

// The error handler responds to refused requests as over HTTP/1, and the connection stays open.
func TestErrorHandlerOfRefusedRequests(t *testing.T) {
	onSites(t, func(w *site) {
		var refused []error
		w.serve(&gallop.Server{
			MaxHeaderBytes: 4000,
			Handler:        func(ctx *gallop.RequestCtx) { ctx.SetBodyString("handled") },
			ErrorHandler: func(ctx *gallop.RequestCtx, err error) {
				refused = append(refused, err)
				ctx.SetBodyString(fmt.Sprintf("own %d", ctx.Response.StatusCode()))
			},
		})
		c := w.dial()
		for i, tt := range []struct {
			name   string
			status int
			send   func() uint32
		}{
			{"target with a fragment", 400, func() uint32 { return c.open("GET", "/a#b", true) }},
			{"target with a blank", 400, func() uint32 { return c.open("GET", "/a b", true) }},
			{"invalid host", 400, func() uint32 {
				return c.openRaw(true, ":method: GET", ":scheme: http", ":authority: a b", ":path: /")
			}},
			{"too large a head", 431, func() uint32 { return c.open("GET", "/", true, "x-large: "+strings.Repeat("x", 5000)) }},
			{"too many fields", 431, func() uint32 { return c.open("GET", "/", true, slices.Repeat([]string{"x-many: "}, 120)...) }},
			{"TRACE", 405, func() uint32 { return c.open("TRACE", "/", true) }},
		} {
			id := tt.send()
			st := c.await(id)
			if st.head.status() != tt.status || string(st.body) != fmt.Sprintf("own %d", tt.status) || len(refused) != i+1 {
				w.t.Fatalf("%s: %v, %q, code %v, %v", tt.name, st.head, st.body, st.code, refused)
			}
			c.want(c.get("/"), 200, "handled")
		}
	})
}
