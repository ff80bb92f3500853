package gallop

import (
	"bufio"
	"strings"
	"testing"
)

func TestResponseFraming(t *testing.T) {
	for _, tt := range []struct {
		name string
		fill func(*Response)
		want string
	}{
		{"bytes", func(r *Response) { r.SetBodyString("abc") },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc"},
		{"raw bytes", func(r *Response) { r.SetBodyRaw([]byte("abc")) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc"},
		{"empty", func(r *Response) {}, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"stream of known size", func(r *Response) { r.SetBodyStream(strings.NewReader("abc"), 3) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc"},
		{"stream of unknown size", func(r *Response) { r.SetBodyStream(strings.NewReader("abc"), -1) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{"stream writer", func(r *Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("ab"); w.Flush(); w.WriteString("c") })
		}, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"},
		{"stream writer of announced size", func(r *Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") })
			r.Header.SetContentLength(3)
		}, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc"},
		{"trailers", func(r *Response) {
			r.Header.SetTrailer("X-Sum")
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc"); r.Header.Set("X-Sum", "7") })
		}, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n"},
		{"HEAD of bytes", func(r *Response) { r.SkipBody = true; r.SetBodyString("abc") },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\n"},
		{"HEAD of a stream of unknown size", func(r *Response) { r.SkipBody = true; r.SetBodyStream(strings.NewReader("abc"), -1) },
			"HTTP/1.1 200 OK\r\n\r\n"},
		{"HEAD with Content-Length and no body", func(r *Response) { r.SkipBody = true; r.Header.SetContentLength(7) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 7\r\n\r\n"},
		{"204 of bytes", func(r *Response) { r.SetStatusCode(204); r.SetBodyString("abc") }, "HTTP/1.1 204 No Content\r\n\r\n"},
		{"204 of a stream", func(r *Response) { r.SetStatusCode(204); r.SetBodyStream(strings.NewReader("abc"), -1) }, "HTTP/1.1 204 No Content\r\n\r\n"},
		{"103", func(r *Response) { r.SetStatusCode(103); r.Header.Set("Link", "</a>") }, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"},
		{"304", func(r *Response) {
			r.SetStatusCode(304)
			r.Header.SetNoDefaultContentType(true)
			r.SetBodyString("abc")
		},
			"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n"},
		{"bytes instead of a stream", func(r *Response) { r.SetBodyStream(strings.NewReader("abcdef"), 6); r.SetBodyString("x") },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 1\r\n\r\nx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var resp Response
			tt.fill(&resp)
			var got strings.Builder
			n, err := resp.WriteTo(&got)
			if err != nil || n != int64(got.Len()) || got.String() != tt.want {
				t.Errorf("WriteTo: %d, %v\n got %q\nwant %q", n, err, got.String(), tt.want)
			}
		})
	}
}
