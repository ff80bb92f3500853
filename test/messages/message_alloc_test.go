package messages_test

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/bufpool"
)

// A message that is used again allocates nothing.
func TestMessageAllocations(t *testing.T) {
	if bufpool.Poisons {
		t.Skip("race builds allocate")
	}
	w := bufio.NewWriter(io.Discard)
	text := strings.Repeat("x", 1000)
	large := []byte(strings.Repeat("x", 200<<10))
	stream := strings.NewReader("")
	sw := gallop.StreamWriter(func(w *bufio.Writer) { w.WriteString(text) })
	var req gallop.Request
	var resp gallop.Response
	in := bytes.NewReader([]byte(post + "Content-Length: 3\r\n\r\nabc"))
	r := bufio.NewReader(nil)
	for _, tt := range []struct {
		name string
		want float64
		run  func()
	}{
		{"response with bytes", 0, func() {
			resp.Reset()
			resp.SetStatusCode(gallop.StatusNotFound)
			resp.Header.SetContentType("text/html")
			resp.SetBodyString(text)
			resp.Write(w)
		}},
		{"response with raw bytes", 0, func() { resp.Reset(); resp.SetBodyRaw(large); resp.Write(w) }},
		{"response with large bytes", 0, func() { resp.Reset(); resp.SetBody(large); resp.Write(w) }},
		{"response with a stream", 0, func() { resp.Reset(); stream.Reset(text); resp.SetBodyStream(stream, len(text)); resp.Write(w) }},
		{"response in chunks", 0, func() { resp.Reset(); stream.Reset(text); resp.SetBodyStream(stream, -1); resp.Write(w) }},
		{"response with a stream writer", 0, func() { resp.Reset(); resp.SetBodyStreamWriter(sw); resp.Write(w) }},
		{"response from the pool", 0, func() {
			resp := gallop.AcquireResponse()
			resp.SetBodyString(text)
			io.WriteString(resp.BodyWriter(), text)
			resp.Write(w)
			gallop.ReleaseResponse(resp)
		}},
		{"request with bytes", 0, func() {
			req.Reset()
			req.Header.SetMethod("POST")
			req.SetRequestURI("/a/b?c=d")
			req.Header.SetHost("a.example")
			req.SetBodyString(text)
			req.Write(w)
		}},
		{"request with a URI", 0, func() { req.Reset(); req.SetRequestURI("http://a.example/b?c=d"); req.Write(w) }},
		{"request that is read", 0, func() { in.Seek(0, 0); r.Reset(in); req.Read(r); req.Body() }},
		{"URI and arguments", 0, func() {
			req.Reset()
			req.Header.SetHost("a")
			req.SetRequestURI("/a?b=c")
			req.URI().QueryArgs().Peek("b")
			req.PostArgs()
		}},
	} {
		if got := testing.AllocsPerRun(100, tt.run); got > tt.want {
			t.Errorf("%s: %v allocations", tt.name, got)
		}
	}
}
