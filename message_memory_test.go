package gallop

import (
	"runtime"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// argsRequest is a request with n arguments in its query, its form and its multipart form.
func argsRequest(n, most int) (query, form, multi *Request) {
	text := strings.TrimSuffix(strings.Repeat("a&", n), "&")
	query, form, multi = new(Request), new(Request), new(Request)
	query.maxArgs, form.maxArgs, multi.maxArgs = most, most, most
	query.SetRequestURI("/?" + text)
	form.Header.SetContentType(mediaTypeForm)
	form.SetBodyString(text)
	multi.Header.SetContentType("multipart/form-data; boundary=b")
	multi.SetBodyString(strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n", n) + "--b--\r\n")
	return query, form, multi
}

func TestRequestsBoundArguments(t *testing.T) {
	for n, want := range map[int]error{20: nil, 21: ErrTooManyArgs} {
		query, form, multi := argsRequest(n, 20)
		if args := query.URI().QueryArgs(); args.Err() != want || args.Len() != 20 {
			t.Errorf("%d in the query: %d, %v", n, args.Len(), args.Err())
		}
		if args := form.PostArgs(); args.Err() != want || args.Len() != 20 {
			t.Errorf("%d in a form: %d, %v", n, args.Len(), args.Err())
		}
		if _, err := multi.MultipartForm(); err != want {
			t.Errorf("%d in a multipart form: %v", n, err)
		}
		var c Request
		query.CopyTo(&c)
		if args := c.URI().QueryArgs(); args.Err() != want || args.Len() != 20 {
			t.Errorf("%d in a copy: %d, %v", n, args.Len(), args.Err())
		}
	}
}

func TestManyArgumentsAllocateLittle(t *testing.T) {
	_, form, _ := argsRequest(2<<20, defaultMaxFormArgs)
	form.Body()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	args := form.PostArgs()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 || args.Len() != defaultMaxFormArgs || args.Err() != ErrTooManyArgs {
		t.Errorf("%d bytes for %d arguments, %v", n, args.Len(), args.Err())
	}
}

// Time and memory grow with the input and not with its square.
func TestArgsParseOddMegabytes(t *testing.T) {
	for _, tc := range []struct {
		name, unit string
		want       int // arguments
	}{
		{"separators only", "&", 0},
		{"equals signs only", "=", 1},
		{"empty pairs", "=&", 0},
		{"short keys", "a&", 1 << 19},
		{"percent signs", "%", 1},
		{"broken escapes", "%z&", 349526},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var a Args
			a.Parse(strings.Repeat(tc.unit, 1<<20/len(tc.unit)+1)[:1<<20])
			if a.Len() != tc.want || cap(a.arena) > 2<<20 || cap(a.list) > 2*tc.want+16 {
				t.Errorf("%d arguments, arena of %d, list of %d", a.Len(), cap(a.arena), cap(a.list))
			}
			if a.Reset(); cap(a.arena) > maxKeptBuffer || cap(a.list)*20 > maxKeptBuffer {
				t.Errorf("Reset kept %d and %d", cap(a.arena), cap(a.list))
			}
		})
	}
}

func TestArgsSetOverAndOverStaysSmall(t *testing.T) {
	var a Args
	a.Set("keep", "this")
	value := strings.Repeat("v", 100)
	for range 10000 {
		a.Set("k", value)
		a.Del("gone")
		a.Add("gone", value)
	}
	if cap(a.arena) > 16<<10 || string(a.Peek("keep")) != "this" || string(a.Peek("k")) != value || string(a.Peek("gone")) != value {
		t.Errorf("arena of %d bytes: %s", cap(a.arena), a.String())
	}
}

func TestURIResetDropsLargeBuffers(t *testing.T) {
	var u URI
	u.SetPathBytes(make([]byte, maxKeptBuffer+1))
	u.SetQueryString("small")
	u.Reset()
	if cap(u.pathOriginal) != 0 || cap(u.queryString) == 0 {
		t.Errorf("kept %d bytes of a large buffer, %d of a small one", cap(u.pathOriginal), cap(u.queryString))
	}
}

// Memory that a message keeps after Reset is bounded, and raw bytes are never written to.
func TestResetGivesLargeBuffersBack(t *testing.T) {
	var req Request
	req.SetBody(make([]byte, maxKeptBuffer+1))
	if req.Reset(); cap(req.buf) != 0 {
		t.Errorf("%d bytes kept", cap(req.buf))
	}
	req.SetBody(make([]byte, 1000))
	if req.Reset(); cap(req.buf) == 0 {
		t.Error("nothing kept")
	}
	raw := []byte("raw")
	req.SetBodyRaw(raw)
	req.SetBodyString("xxx")
	req.AppendBodyString("yyy")
	if string(raw) != "raw" {
		t.Errorf("raw body became %q", raw)
	}
}

func TestSetBodySizePoolLimit(t *testing.T) {
	t.Cleanup(func() { SetBodySizePoolLimit(maxKeptBuffer, maxKeptBuffer) })
	var req Request
	var resp Response
	for _, tt := range []struct{ limit, reqKeeps, respKeeps int }{{-1, 1 << 20, 1 << 20}, {0, 0, 0}} {
		SetBodySizePoolLimit(tt.limit, tt.limit)
		req.SetBody(make([]byte, 1<<20))
		resp.SetBody(make([]byte, 1<<20))
		req.Reset()
		resp.Reset()
		if cap(req.buf) != tt.reqKeeps || cap(resp.buf) != tt.respKeeps {
			t.Errorf("limit %d: kept %d and %d", tt.limit, cap(req.buf), cap(resp.buf))
		}
	}
}

func TestAHeaderThatIsNeverResetStaysSmall(t *testing.T) {
	var req RequestHeader
	var resp, last ResponseHeader
	wiretest.Must(t, resp.SetTrailer("T"))
	wiretest.Must(t, last.SetTrailer("T"))
	value := strings.Repeat("v", 1000)
	for range 1000 {
		req.SetMethod("PURGE")
		req.SetRequestURI("/" + value)
		req.Set("X", value)
		req.SetCookie("c", value)
		resp.SetStatusMessage([]byte(value))
		resp.SetContentLength(5)
		resp.SetServer(value)
		resp.Set("T", value)
		last.Set("T", value)
		req.SetConnectionClose()
	}
	for _, size := range []int{req.head.Fields.Size(), resp.head.Fields.Size(), resp.trailers.Size(), last.trailers.Size()} {
		if size > 64<<10 {
			t.Errorf("%d bytes of storage", size)
		}
	}
	if string(req.Method()) != "PURGE" || string(req.RequestURI()) != "/"+value || string(req.Cookie("c")) != value ||
		string(resp.StatusMessage()) != value || string(resp.Peek("T")) != value {
		t.Error("a value got lost")
	}
}

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
	c := new(Cookie)
	wiretest.Must(t, c.Parse("session=0123456789abcdef; path=/"))
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
