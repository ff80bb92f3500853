package gallop

import (
	"testing"

	"github.com/gallop-http/gallop/internal/http1"
)

const browserHead = "GET /plaintext?a=b HTTP/1.1\r\nHost: example.org\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:130.0)\r\n" +
	"Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate, br\r\n" +
	"Accept-Language: en-US,en;q=0.5\r\nX-Custom: some value\r\nCookie: a=1; session=0123456789abcdef; theme=dark\r\n\r\n"

// parsed is a header as a server has it: a view of the bytes of a connection.
func parsed(tb testing.TB, h *RequestHeader) {
	h.Reset()
	if n, err := new(http1.Parser).ParseRequest(&h.head, []byte(browserHead), &readLimits); n != len(browserHead) || err != nil {
		tb.Fatal(n, err)
	}
}

var responseOut = outgoing{server: "gallop", date: noon, length: 12, defaultContentType: true}

func buildResponse(h *ResponseHeader) {
	h.SetStatusCode(StatusOK)
	h.SetContentType("application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Number", "12345")
	h.SetBytesV("ETag", []byte(`"0123456789abcdef"`))
}

func TestHeadersDoNotAllocate(t *testing.T) {
	var req RequestHeader
	var resp, built ResponseHeader
	parsed(t, &req)
	buildResponse(&built)
	room := make([]byte, 0, 4096)
	c := cookieOf("session", "0123456789abcdef", "/")
	b := []byte(browserHead)
	n := 0
	for name, f := range map[string]func(){
		"parse":            func() { req.Reset(); _, _ = new(http1.Parser).ParseRequest(&req.head, b, &readLimits) },
		"Peek, known":      func() { n += len(req.Peek("Accept-Encoding")) },
		"Peek, unknown":    func() { n += len(req.Peek("x-custom")) },
		"Peek, missing":    func() { n += len(req.Peek("X-Missing")) },
		"PeekAll":          func() { n += len(req.PeekAll("Accept")) },
		"PeekKeys":         func() { n += len(req.PeekKeys()) },
		"Cookie":           func() { n += len(req.Cookie("theme")) },
		"Host":             func() { n += len(req.Host()) + len(req.Method()) + len(req.RequestURI()) },
		"HasAcceptEnc":     func() { req.HasAcceptEncoding("br") },
		"build a response": func() { resp.Reset(); buildResponse(&resp) },
		"SetContentLength": func() { resp.Reset(); resp.SetContentLength(12345); resp.SetContentLength(-1) },
		"SetConnection":    func() { resp.Reset(); resp.SetConnectionClose() },
		"SetCookie":        func() { resp.Reset(); resp.SetCookie(c) },
		"trailers": func() {
			resp.Reset()
			_ = resp.SetTrailer("X-Sum")
			resp.Set("X-Sum", "1")
		},
		"response head": func() { n += len(built.appendHead(room, &responseOut)) },
		"request head":  func() { n += len(req.appendHead(room, &responseOut)) },
		"All": func() {
			for name, value := range req.All() {
				n += len(name) + len(value)
			}
		},
		"AllInOrder": func() {
			for name := range req.AllInOrder() {
				n += len(name)
			}
		},
		"Cookies of a request": func() {
			for name, value := range req.Cookies() {
				n += len(name) + len(value)
			}
		},
		"Cookies of a response": func() {
			for name, value := range resp.Cookies() {
				n += len(name) + len(value)
			}
		},
		"Trailers": func() {
			for name := range resp.Trailers() {
				n += len(name)
			}
		},
		"AllTrailers": func() {
			for name := range resp.AllTrailers() {
				n += len(name)
			}
		},
		"VisitAll": func() { req.VisitAll(func(name, value []byte) { n += len(name) }) },
	} {
		if got := testing.AllocsPerRun(100, f); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
	if n == 0 {
		t.Error("nothing was found")
	}
}

func BenchmarkHeaderPeek(b *testing.B) {
	var h RequestHeader
	parsed(b, &h)
	for _, name := range []string{"Accept-Encoding", "accept-encoding", "X-Custom", "X-Missing"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				h.Peek(name)
			}
		})
	}
}

func BenchmarkHeaderAll(b *testing.B) {
	var h RequestHeader
	parsed(b, &h)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for name, value := range h.All() {
			n += len(name) + len(value)
		}
	}
}

func BenchmarkResponseHeaderBuild(b *testing.B) {
	var h ResponseHeader
	for b.Loop() {
		h.Reset()
		buildResponse(&h)
	}
}

func BenchmarkResponseHeaderSet(b *testing.B) {
	for _, name := range []string{"Content-Type", "Cache-Control", "X-Custom"} {
		b.Run(name, func(b *testing.B) {
			var h ResponseHeader
			for b.Loop() {
				h.Reset()
				h.Set(name, "application/json")
			}
		})
	}
}

func BenchmarkResponseHeaderAppend(b *testing.B) {
	var plain, built ResponseHeader
	plain.SetContentType("text/plain")
	buildResponse(&built)
	room := make([]byte, 0, 4096)
	for name, h := range map[string]*ResponseHeader{"plaintext": &plain, "five fields": &built} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				h.appendHead(room, &responseOut)
			}
		})
	}
}

func BenchmarkRequestHeaderParse(b *testing.B) {
	var h RequestHeader
	in := []byte(browserHead)
	for b.Loop() {
		h.Reset()
		if _, err := new(http1.Parser).ParseRequest(&h.head, in, &readLimits); err != nil {
			b.Fatal(err)
		}
	}
}
