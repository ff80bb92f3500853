package bench

import (
	"bufio"
	"bytes"
	"net/http"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/valyala/fasthttp"
)

// Parsing through the exported API of each peer. A head is read from a bufio.Reader into a reused value, as each
// package's own server does. net/http has no reusable value and allocates a new one. One operation is one head, and
// throughput counts the bytes of the head.

func BenchmarkParseRequest4Fields(b *testing.B)  { benchParseRequest(b, request4) }
func BenchmarkParseRequest5Fields(b *testing.B)  { benchParseRequest(b, request5) }
func BenchmarkParseRequest20Fields(b *testing.B) { benchParseRequest(b, request20) }

func BenchmarkParseResponse5Fields(b *testing.B)  { benchParseResponse(b, response5) }
func BenchmarkParseResponse16Fields(b *testing.B) { benchParseResponse(b, response16) }

// BenchmarkParseAndLook20Fields looks up six fields after parsing, one of them absent. This also counts work that a
// parser defers until a field is needed.
func BenchmarkParseAndLook20Fields(b *testing.B) {
	names := []string{"Host", "User-Agent", "Accept-Encoding", "If-None-Match", "Sec-Fetch-Mode", "X-Request-Id"}
	b.Run("server=fasthttp", func(b *testing.B) {
		var h fasthttp.RequestHeader
		benchRead(b, request20, func(r *bufio.Reader) error {
			err := h.Read(r)
			for _, name := range names {
				looked += len(h.Peek(name))
			}
			return err
		})
	})
	b.Run("server=gallop", func(b *testing.B) {
		var h gallop.RequestHeader
		benchRead(b, request20, func(r *bufio.Reader) error {
			err := h.Read(r)
			for _, name := range names {
				looked += len(h.Peek(name))
			}
			return err
		})
	})
	b.Run("server=nethttp", func(b *testing.B) {
		benchRead(b, request20, func(r *bufio.Reader) error {
			req, err := http.ReadRequest(r)
			if err == nil {
				looked += len(req.Host)
				for _, name := range names[1:] {
					looked += len(req.Header.Get(name))
				}
			}
			return err
		})
	})
}

// looked keeps the compiler from removing look-ups.
var looked int

func benchParseRequest(b *testing.B, head []byte) {
	b.Run("server=fasthttp", func(b *testing.B) {
		var h fasthttp.RequestHeader
		benchRead(b, head, h.Read)
	})
	b.Run("server=gallop", func(b *testing.B) {
		var h gallop.RequestHeader
		benchRead(b, head, h.Read)
	})
	b.Run("server=nethttp", func(b *testing.B) {
		benchRead(b, head, func(r *bufio.Reader) error {
			_, err := http.ReadRequest(r)
			return err
		})
	})
}

func benchParseResponse(b *testing.B, head []byte) {
	b.Run("server=fasthttp", func(b *testing.B) {
		var h fasthttp.ResponseHeader
		benchRead(b, head, h.Read)
	})
	b.Run("server=gallop", func(b *testing.B) {
		var h gallop.ResponseHeader
		benchRead(b, head, h.Read)
	})
	b.Run("server=nethttp", func(b *testing.B) {
		benchRead(b, head, func(r *bufio.Reader) error {
			_, err := http.ReadResponse(r, nil)
			return err
		})
	})
}

// benchRead reads head b.N times. The reader's buffer always holds the whole head, as if the request came in one
// segment.
func benchRead(b *testing.B, head []byte, read func(*bufio.Reader) error) {
	src := bytes.NewReader(head)
	r := bufio.NewReaderSize(src, 4096)
	b.SetBytes(int64(len(head)))
	b.ReportAllocs()
	for b.Loop() {
		src.Reset(head)
		r.Reset(src)
		if err := read(r); err != nil {
			b.Fatal(err)
		}
	}
}

// TestHeads checks that the messages match their names.
func TestHeads(t *testing.T) {
	for _, tt := range []struct {
		name   string
		head   []byte
		fields int
	}{
		{"request4", request4, 4},
		{"request5", request5, 5},
		{"request20", request20, 20},
		{"response5", response5, 5},
		{"response10", response10, 10},
		{"response16", response16, 16},
		{"getRequest", getRequest, 4},
	} {
		if got := bytes.Count(tt.head, []byte("\r\n")) - 2; got != tt.fields {
			t.Errorf("%s has %d fields, want %d", tt.name, got, tt.fields)
		}
	}
	t.Logf("getRequest %d, postRequest %d, request20 %d bytes", len(getRequest), len(postRequest), len(request20))
}
