package gallop

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/gallop-http/gallop/internal/field"
)

// TestReusedHeaderSetsAlike makes the same changes to a new header and to one that has room from before. The second one
// takes the short way for most fields. Both must have the same fields and refuse the same ones.
func TestReusedHeaderSetsAlike(t *testing.T) {
	var names []string
	for id := field.Unknown; id <= field.HTTP2Settings; id++ {
		names = append(names, id.String())
	}
	names = append(names, "x-other", "X-Other", "bad name", "etag", "HOST", "vary")
	values := []string{"", " ", "v", "a value", " led", "trailed ", "\ttab", "ta\tb and more", "12", "chunked", "close", "a=b; c=d",
		"line\r\nbreak", "long enough\r\nfor words", "null\x00", "longer value with null \x00", "ünïcödé", "del\x7f", "visible, quite long: \"~\""}
	r := rand.New(rand.NewPCG(7, 8))
	var reused ResponseHeader
	var reusedRequest RequestHeader
	for range 20000 {
		reused.Reset()
		reusedRequest.Reset()
		var fresh ResponseHeader
		var freshRequest RequestHeader
		if r.IntN(8) == 0 {
			fresh.DisableNormalizing()
			reused.DisableNormalizing()
		}
		for range r.IntN(8) {
			name, value := names[r.IntN(len(names))], values[r.IntN(len(values))]
			switch r.IntN(4) {
			case 0:
				fresh.Add(name, value)
				reused.Add(name, value)
			case 1:
				if a, b := fresh.TrySet(name, value), reused.TrySet(name, value); (a == nil) != (b == nil) {
					t.Fatalf("%s: %q: new header: %v, reused header: %v", name, value, a, b)
				}
			default:
				fresh.Set(name, value)
				reused.Set(name, value)
			}
			freshRequest.Set(name, value)
			reusedRequest.Set(name, value)
			if r.IntN(8) == 0 {
				fresh.SetContentType(value)
				reused.SetContentType(value)
			}
		}
		if got, want := reused.String(), fresh.String(); got != want {
			t.Fatalf("reused header:\n%q\nnew header:\n%q", got, want)
		}
		if got, want := reusedRequest.String(), freshRequest.String(); got != want {
			t.Fatalf("reused request header:\n%q\nnew request header:\n%q", got, want)
		}
	}
}

// TestWriteIntoBuffers writes heads through buffers with and without room for them, and counts allocations.
func TestWriteIntoBuffers(t *testing.T) {
	var response ResponseHeader
	response.Set("Content-Type", "text/html")
	response.Set("X-Other", "other")
	response.SetContentLength(1234)
	var request RequestHeader
	request.SetMethod("PUT")
	request.SetRequestURI("/path")
	request.SetHost("example.com")
	for name, h := range map[string]interface {
		Write(*bufio.Writer) error
		Header() []byte
	}{"response": &response, "request": &request} {
		for _, size := range []int{16, 100, 300, 4096} {
			var out bytes.Buffer
			w := bufio.NewWriterSize(&out, size)
			w.WriteString("before")
			if err := h.Write(w); err != nil {
				t.Fatal(err)
			}
			w.Flush()
			if want := "before" + string(h.Header()); out.String() != want {
				t.Errorf("%s through %d bytes: %q, want %q", name, size, out.String(), want)
			}
			allocs := testing.AllocsPerRun(10, func() {
				w.Reset(io.Discard)
				h.Write(w)
			})
			if allocs != 0 {
				t.Errorf("%s through %d bytes: %v allocations", name, size, allocs)
			}
		}
	}
}
