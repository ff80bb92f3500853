package http2_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// A handler learns all about the request and its connection.
func TestRequestsAsHandlersSeeThem(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			h := &ctx.Request.Header
			for what, pair := range map[string][2]any{
				"method":        {string(ctx.Method()), "PUT"},
				"target":        {string(ctx.RequestURI()), "/a%20b?c=d"},
				"path":          {string(ctx.Path()), "/a b"},
				"query":         {string(ctx.QueryArgs().Peek("c")), "d"},
				"protocol":      {string(h.Protocol()), "HTTP/2.0"},
				"host":          {string(ctx.Host()), "example.com"},
				"Host":          {string(h.Peek("Host")), "example.com"},
				"URI":           {ctx.URI().String(), map[bool]string{false: "http", true: "https"}[w.tls] + "://example.com/a%20b?c=d"},
				"name":          {string(h.Peek("X-Own-Name")), "value"},
				"twice":         {fmt.Sprintf("%s", h.PeekAll("X-Twice")), "[1 2]"},
				"cookie":        {string(h.Peek("Cookie")), "a=1; b=2"},
				"first cookie":  {string(h.Cookie("a")), "1"},
				"second cookie": {string(h.Cookie("b")), "2"},
				"body":          {string(ctx.PostBody()), "body"},
				"IsTLS":         {ctx.IsTLS(), w.tls},
				"TLS state":     {ctx.TLSConnectionState() != nil, w.tls},
				"number":        {ctx.ConnRequestNum(), uint64(2)},
				"close":         {h.ConnectionClose(), false},
				"parent":        {ctx.ConnTime().IsZero() || ctx.Time().Before(ctx.ConnTime()), false},
			} {
				if string(ctx.Path()) != "/alive" && pair[0] != pair[1] {
					w.t.Errorf("%s is %v, want %v", what, pair[0], pair[1])
				}
			}
			if w.tls && ctx.TLSConnectionState().NegotiatedProtocol != "h2" {
				w.t.Errorf("protocol %q", ctx.TLSConnectionState().NegotiatedProtocol)
			}
			for name := range h.All() {
				if strings.HasPrefix(string(name), ":") {
					w.t.Errorf("header %s", name)
				}
			}
		})
		c := w.dial()
		c.wantAlive()
		c.want(c.do("PUT", "/a%20b?c=d", "body", "x-own-name: value", "x-twice: 1", "x-twice: 2", "cookie: a=1", "cookie: b=2"), 200, "")
	})
}

// Requests that the server refuses get their status, and do no harm to other requests.
func TestRefusedRequests(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{MaxHeaderBytes: 4096, MaxHeaderFields: 20, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) != "/alive" {
				w.t.Errorf("the handler was called for %s %s", ctx.Method(), ctx.Path())
			}
		}})
		c := w.dial()
		scheme := ":scheme: http"
		if w.tls {
			scheme = ":scheme: https"
		}
		get := func(path, host string) []string {
			return []string{":method: GET", scheme, ":path: " + path, ":authority: " + host}
		}
		for _, tt := range []struct {
			name   string
			fields []string
			status int
		}{
			{"large head", append(get("/", "example.com"), "x-large: "+strings.Repeat("x", 5000)), 431},
			{"many fields", append(get("/", "example.com"), strings.Split(strings.Repeat("x-many: 1,", 30)+"x-last: 1", ",")...), 431},
			{"invalid target", get("/a b", "example.com"), 400},
			{"control character in the target", get("/a\x01", "example.com"), 400},
			{"invalid host", get("/", "exa mple.com"), 400},
			{"user in the host", get("/", "user@example.com"), 400},
			{"empty authority", get("/", ""), 400},
			{"empty Host", []string{":method: GET", scheme, ":path: /", "host: "}, 400},
			{"empty authority without a path", []string{":method: OPTIONS", scheme, ":path: *", ":authority: "}, 400},
			{"empty Host without a path", []string{":method: OPTIONS", scheme, ":path: *", "host: "}, 400},
			{"authority that is only a port", get("/", ":80"), 400},
			{"fragment in the target", get("/a#b", "example.com"), 400},
			{"no host", []string{":method: GET", scheme, ":path: /"}, 400},
			{"CONNECT without a port", []string{":method: CONNECT", ":authority: example.com"}, 400},
			{"CONNECT with content", []string{":method: CONNECT", ":authority: example.com:443", "content-length: 5"}, 400},
			{"TRACE", []string{":method: TRACE", scheme, ":path: /", ":authority: example.com"}, 405},
			{"unknown expectation", append(get("/", "example.com"), "expect: something"), 417},
		} {
			st := c.await(c.openRaw(true, tt.fields...))
			if st.head.status() != tt.status && (tt.status != 400 || st.code == nil || *st.code != http2.ErrCodeProtocol) {
				w.t.Errorf("%s: status %d, want %d; %v", tt.name, st.head.status(), tt.status, st.code)
			}
			c.wantAlive()
		}
	})
}

// A handler that does not take the stream of a CONNECT request responds to it as to other requests.
func TestConnectWithoutATunnel(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			if ctx.IsConnect() {
				ctx.Error(string(ctx.Host()), gallop.StatusForbidden)
			}
		})
		c := w.dial()
		id := c.openRaw(false, ":method: CONNECT", ":authority: example.com:443")
		c.data(id, "some", false)
		c.want(c.awaitReset(id, http2.ErrCodeNo), 403, "example.com:443")
		c.wantAlive()
	})
}

func TestGetOnlyAndAllowTrace(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{GetOnly: true, Handler: func(ctx *gallop.RequestCtx) {}})
		c := w.dial()
		if st := c.do("POST", "/", "body"); st.head.status() != 405 || st.head.get("allow") != "GET, HEAD" {
			w.t.Errorf("POST: %v", st.head)
		}
		c.want(c.get("/"), 200, "")
	})
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{AllowTrace: true, Handler: func(ctx *gallop.RequestCtx) { ctx.SetBody(ctx.Method()) }})
		c := w.dial()
		c.want(c.do("TRACE", "/", ""), 200, "TRACE")
	})
}

// HeaderReceived and ErrorHandler are called as over HTTP/1.
func TestHooks(t *testing.T) {
	onSites(t, func(w *site) {
		var refused error
		w.serve(&gallop.Server{
			MaxRequestBodySize: 10,
			HeaderReceived: func(h *gallop.RequestHeader) gallop.RequestConfig {
				if string(h.RequestURI()) == "/large" {
					return gallop.RequestConfig{MaxRequestBodySize: 100}
				}
				return gallop.RequestConfig{}
			},
			ErrorHandler: func(ctx *gallop.RequestCtx, err error) {
				refused = err
				ctx.Response.Header.Set("X-Status", fmt.Sprint(ctx.Response.StatusCode()))
				ctx.SetStatusCode(418)
				ctx.SetBodyString("refused")
			},
			Handler: echo,
		})
		c := w.dial()
		large := strings.Repeat("x", 100)
		c.want(c.do("POST", "/large", large), 200, large)
		st := c.want(c.do("POST", "/small", large), 418, "refused")
		if !errors.Is(refused, gallop.ErrBodyTooLarge) || st.head.get("x-status") != "413" {
			w.t.Errorf("the error handler got %v, status %s", refused, st.head.get("x-status"))
		}
		c.wantAlive()
	})
}

// A head that belongs to a connection of HTTP/1 is malformed.
func TestMalformedRequests(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) != "/alive" {
				w.t.Errorf("the handler was called for %s", &ctx.Request.Header)
			}
		})
		c := w.dial()
		for _, lines := range [][]string{
			{"connection: close"}, {"transfer-encoding: chunked"}, {"keep-alive: 5"}, {"upgrade: websocket"}, {"te: gzip"},
			{"X-Upper: 1"}, {"host: other.example"}, {"x-value: a\nb"}, {":unknown: 1"}, {"content-length: 1"},
		} {
			c.awaitReset(c.open("GET", "/", true, lines...), http2.ErrCodeProtocol)
			if lines[0] != "content-length: 1" { // whose byte could follow
				c.awaitReset(c.open("GET", "/", false, lines...), http2.ErrCodeProtocol)
			}
		}
		c.awaitReset(c.openRaw(false, ":method: GET", ":scheme: http", ":authority: example.com"), http2.ErrCodeProtocol)
		c.wantAlive()
	})
}
