package gallop

import (
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

func TestResponseHeadAsSent(t *testing.T) {
	server := outgoing{server: "gallop", date: noon, length: 5, defaultContentType: true}
	for _, c := range []struct {
		name  string
		build func(h *ResponseHeader)
		out   func(o *outgoing)
		want  string
	}{
		{"what a server adds", nil, nil,
			"HTTP/1.1 200 OK\r\nServer: gallop\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\r\n"},
		{"what was set goes before it", func(h *ResponseHeader) {
			h.Set("date", "today")
			h.SetServer("me")
			h.SetContentType("x/y")
		}, nil, "HTTP/1.1 200 OK\r\nDate: today\r\nServer: me\r\nContent-Type: x/y\r\nContent-Length: 5\r\n\r\n"},
		{"no default Content-Type", func(h *ResponseHeader) { h.SetNoDefaultContentType(true) }, bare,
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
		{"no Content-Type without a body", nil, func(o *outgoing) { bare(o); o.length = 0 },
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"chunked", nil, func(o *outgoing) { bare(o); o.length = lengthChunked },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"until close", nil, func(o *outgoing) { bare(o); o.length = lengthNone; o.close = true },
			"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"},
		{"framing that was set gives way", func(h *ResponseHeader) {
			h.Set("Content-Length", "7")
			h.Set("Transfer-Encoding", "chunked")
		}, bare, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\r\n"},
		{"204 has no framing", func(h *ResponseHeader) { h.SetStatusCode(204) }, bare, "HTTP/1.1 204 No Content\r\n\r\n"},
		{"1xx has no framing", func(h *ResponseHeader) { h.SetStatusCode(103); h.Set("Link", "</a>") }, bare,
			"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"},
		{"304 keeps its length, and has no type but one that was set", func(h *ResponseHeader) { h.SetStatusCode(304) }, bare,
			"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"},
		{"304 with a type", func(h *ResponseHeader) { h.SetStatusCode(304); h.SetContentType("a/b") }, bare,
			"HTTP/1.1 304 Not Modified\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\n"},
		{"code without a phrase", func(h *ResponseHeader) { h.SetStatusCode(799); h.SetNoDefaultContentType(true) }, bare,
			"HTTP/1.1 799 Unknown Status Code\r\nContent-Length: 5\r\n\r\n"},
		{"a phrase of its own", func(h *ResponseHeader) {
			h.SetStatusMessage([]byte("Fine"))
			h.SetStatusCode(201)
			h.SetNoDefaultContentType(true)
		}, bare, "HTTP/1.1 201 Fine\r\nContent-Length: 5\r\n\r\n"},
		{"HTTP/1.0 on demand", func(h *ResponseHeader) {
			h.SetProtocol([]byte("HTTP/1.0"))
			h.SetNoDefaultContentType(true)
		}, func(o *outgoing) { bare(o); o.keepAlive = true }, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n"},
		{"close goes before keep-alive", func(h *ResponseHeader) { h.SetNoDefaultContentType(true) },
			func(o *outgoing) { bare(o); o.keepAlive, o.close = true, true }, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"},
		{"other options stay", func(h *ResponseHeader) {
			h.SetStatusCode(101)
			h.Set("Upgrade", "x")
			h.Set("Connection", "Upgrade, keep-alive, ,close")
			h.Add("Connection", "a")
		}, bare, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade, a\r\n\r\n"},
		{"Trailer of a chunked body", func(h *ResponseHeader) {
			h.Set("X-Sum", "1")
			wiretest.Must(t, h.SetTrailer("X-Sum, X-Other"))
			h.Set("x-other", "2")
			h.SetNoDefaultContentType(true)
		}, func(o *outgoing) { bare(o); o.length = lengthChunked },
			"HTTP/1.1 200 OK\r\nTrailer: X-Sum, X-Other\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"no Trailer otherwise", func(h *ResponseHeader) {
			wiretest.Must(t, h.SetTrailer("X-Sum"))
			h.Set("X-Sum", "1")
			h.SetNoDefaultContentType(true)
		}, bare, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h ResponseHeader
			o := server
			if c.build != nil {
				c.build(&h)
			}
			if c.out != nil {
				c.out(&o)
			}
			if got := string(h.appendHead([]byte("before"), &o)); got != "before"+c.want {
				t.Errorf("got  %q\nwant %q", got, "before"+c.want)
			}
		})
	}
}

func bare(o *outgoing) { o.server, o.date = "", time.Time{} }

func TestRequestHeadAsSent(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(h *RequestHeader)
		out   outgoing
		want  string
	}{
		{"the zero value", nil, outgoing{length: lengthNone}, "GET / HTTP/1.1\r\n\r\n"},
		{"Host goes first", func(h *RequestHeader) {
			h.Set("accept", "*/*")
			h.SetHost("a")
		}, outgoing{length: lengthNone, agent: "g"}, "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: g\r\nAccept: */*\r\n\r\n"},
		{"unless nothing is special", func(h *RequestHeader) {
			h.Set("accept", "*/*")
			h.DisableSpecialHeader()
			h.SetHost("a")
		}, outgoing{length: 3, agent: "g", defaultContentType: true},
			"GET / HTTP/1.1\r\nAccept: */*\r\nHost: a\r\nContent-Length: 3\r\n\r\n"},
		{"a body", func(h *RequestHeader) {
			h.SetMethod("POST")
			h.SetRequestURI("/a b?c")
		}, outgoing{length: 3, defaultContentType: true},
			"POST /a%20b?c HTTP/1.1\r\nContent-Type: application/octet-stream\r\nContent-Length: 3\r\n\r\n"},
		{"an empty body", func(h *RequestHeader) { h.SetMethod("PUT") }, outgoing{defaultContentType: true},
			"PUT / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"},
		{"HTTP/1.0", func(h *RequestHeader) { h.SetProtocol("HTTP/1.0") }, outgoing{length: lengthNone, close: true},
			"GET / HTTP/1.0\r\nConnection: close\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h RequestHeader
			if c.build != nil {
				c.build(&h)
			}
			if got := string(h.appendHead(nil, &c.out)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
