package gallop

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
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

func TestAReceivedHeadIsForwardedAsHTTP11(t *testing.T) {
	var h ResponseHeader
	wiretest.Must(t, h.Read(bufio.NewReader(strings.NewReader("HTTP/1.0 200 OK\r\nX: y\r\nTrailer: T\r\nContent-Length: 3\r\n\r\n"))))
	if string(h.Protocol()) != "HTTP/1.0" {
		t.Errorf("%q", h.Protocol())
	}
	o := outgoing{length: lengthChunked, defaultContentType: true}
	want := "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nX: y\r\nTrailer: T\r\nTransfer-Encoding: chunked\r\n\r\n"
	if got := string(h.appendHead(nil, &o)); got != want {
		t.Errorf("%q", got)
	}
}

const lowerHead = "GET / HTTP/1.1\r\nhost: h\r\nauthorization: x\r\nETAG: \"1\"\r\nwww-authenticate: a\r\nsec-websocket-key: k\r\n" +
	"x-own-name: 1\r\nX-OTHER: 2\r\nX-Usual: 3\r\nx-own-name: 4\r\ntrailer: x-sum, ETag\r\n\r\n"

const lowerKeys = "Host Authorization Etag Www-Authenticate Sec-Websocket-Key X-Own-Name X-Other X-Usual X-Own-Name Trailer"

func keysOf(loop func(yield func(name, value []byte) bool)) string {
	var names []string
	loop(func(name, _ []byte) bool {
		names = append(names, string(name))
		return true
	})
	return strings.Join(names, " ")
}

func TestLoopsShowCanonicalNames(t *testing.T) {
	var req RequestHeader
	wiretest.ReadHead(&req, lowerHead)
	var resp ResponseHeader
	_, status, _ := strings.Cut(lowerHead, "\r\n")
	if err := resp.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n" + status))); err != nil {
		t.Fatal(err)
	}
	visit := func(visitAll func(func(key, value []byte))) func(func(name, value []byte) bool) {
		return func(yield func(name, value []byte) bool) {
			visitAll(func(key, value []byte) { yield(key, value) })
		}
	}
	for how, loop := range map[string]func(func(name, value []byte) bool){
		"request: All": req.All(), "request: AllInOrder": req.AllInOrder(), "request: VisitAll": visit(req.VisitAll),
		"request: VisitAllInOrder": visit(req.VisitAllInOrder), "response: All": resp.All(), "response: VisitAll": visit(resp.VisitAll),
	} {
		if got := keysOf(loop); got != lowerKeys {
			t.Errorf("%s: %s", how, got)
		}
	}
	if got := string(bytes.Join(req.PeekKeys(), []byte(" "))); got != lowerKeys {
		t.Errorf("PeekKeys: %s", got)
	}
	if got := string(bytes.Join(resp.PeekTrailerKeys(), []byte(" "))); got != "X-Sum Etag" {
		t.Errorf("PeekTrailerKeys: %s", got)
	}
	if got := string(req.RawHeaders()); got != status {
		t.Errorf("RawHeaders: %q", got)
	}
	var forwarded RequestHeader
	req.CopyTo(&forwarded)
	if head := string(forwarded.Header()); !strings.Contains(head, "\r\nx-own-name: 1\r\n") || !strings.Contains(head, "\r\nETAG: ") {
		t.Errorf("forwarded %q", head)
	}
	req.DisableNormalizing()
	if got := keysOf(req.All()); got != "host authorization ETAG www-authenticate sec-websocket-key x-own-name X-OTHER X-Usual x-own-name trailer" {
		t.Errorf("as they came: %s", got)
	}
}

func TestTrailersShowCanonicalNames(t *testing.T) {
	var h RequestHeader
	if err := h.ReadTrailer(bufio.NewReader(strings.NewReader("x-sum: 1\r\nETAG: 1\r\nX-Usual: 1\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(h.AllTrailers()); got != "X-Sum Etag X-Usual" {
		t.Errorf("AllTrailers: %s", got)
	}
	if got := fmt.Sprintf("%s", h.PeekTrailerKeys()); got != "[X-Sum Etag X-Usual]" {
		t.Errorf("Trailers: %s", got)
	}
}

// A header that changes between loops shows the names that it has then, and views of before hold.
func TestShownNamesFollowChanges(t *testing.T) {
	var h RequestHeader
	wiretest.ReadHead(&h, "GET / HTTP/1.1\r\nhost: h\r\nx-a: 1\r\nx-b: 2\r\nx-ab: 3\r\n\r\n")
	before := append([][]byte(nil), h.PeekKeys()...)
	h.Del("x-a")
	h.SetCanonical([]byte("x-new-one"), []byte("4"))
	if got := keysOf(h.All()); got != "Host X-B X-Ab X-New-One" {
		t.Errorf("got %s", got)
	}
	if got := string(bytes.Join(before, []byte(" "))); got != "Host X-A X-B X-Ab" {
		t.Errorf("views became %s", got)
	}
	h.Reset()
	wiretest.ReadHead(&h, "GET / HTTP/1.1\r\nhost: h\r\nx-c: 1\r\n\r\n")
	if got := keysOf(h.All()); got != "Host X-C" {
		t.Errorf("after Reset: %s", got)
	}
}

// The race detector watches what the goroutines write.
func TestShownNamesFromSeveralGoroutines(t *testing.T) {
	var h RequestHeader
	b := []byte(lowerHead)
	if _, err := new(http1.Parser).ParseRequest(&h.head, b, &readLimits); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				if got := keysOf(h.All()); got != lowerKeys {
					t.Errorf("got %s", got)
				}
				h.VisitAllTrailer(func([]byte) {})
			}
		})
	}
	all.Wait()
	if string(b) != lowerHead {
		t.Error("the buffer of the connection was written to")
	}
}

func TestShowingNamesAllocatesAtMostOnce(t *testing.T) {
	for _, tt := range []struct {
		name, fields string
		want         float64
	}{
		{"known", "host: h\r\nuser-agent: a\r\nACCEPT: b\r\nwww-authenticate: c\r\n", 0},
		{"usual", "Host: h\r\nX-Usual-Name: a\r\n", 0},
		{"others", "host: h\r\n" + strings.Repeat("x-own: 1\r\nx-second-one: 2\r\nX-UPPER: 3\r\n", 20), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head := []byte("GET / HTTP/1.1\r\n" + tt.fields + "\r\n")
			var h RequestHeader
			n := 0
			count := func(name, _ []byte) { n += len(name) }
			if got := testing.AllocsPerRun(20, func() {
				h.Reset()
				h.names.text = nil // as in a header that was not used before
				if _, err := new(http1.Parser).ParseRequest(&h.head, head, &readLimits); err != nil {
					t.Fatal(err)
				}
				h.VisitAll(count)
				for name := range h.All() {
					n += len(name)
				}
				h.PeekKeys()
			}); got > tt.want {
				t.Errorf("%v allocations, want %v", got, tt.want)
			}
		})
	}
}

const tokenBytes = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ----"

func TestShownNamesAgreeWithTextproto(t *testing.T) {
	check := func(name string) {
		var h header
		field.Add(&h.head.Fields, field.Lookup(name), name, "")
		if got, want := keysOf(h.All()), textproto.CanonicalMIMEHeaderKey(name); got != want {
			t.Errorf("%q is shown as %q, textproto has %q", name, got, want)
		}
	}
	for id := field.Unknown + 1; id.String() != ""; id++ {
		check(id.String())
		check(strings.ToLower(id.String()))
		check(strings.ToUpper(id.String()))
		if id == field.HTTP2Settings {
			break
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		name := make([]byte, 1+r.IntN(40))
		for i := range name {
			name[i] = tokenBytes[r.IntN(len(tokenBytes))]
		}
		check(string(name))
	}
}
