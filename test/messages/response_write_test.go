package messages_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestResponseFraming(t *testing.T) {
	for _, tt := range []struct {
		name string
		fill func(*gallop.Response)
		want string
	}{
		{"bytes", func(r *gallop.Response) { r.SetBodyString("abc") },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc"},
		{"raw bytes", func(r *gallop.Response) { r.SetBodyRaw([]byte("abc")) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc"},
		{"empty", func(r *gallop.Response) {}, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"stream of known size", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader("abc"), 3) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc"},
		{"stream that writes itself", func(r *gallop.Response) { r.SetBodyStream(selfWriter{strings.NewReader("abc")}, 3) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc"},
		{"stream of unknown size that writes itself", func(r *gallop.Response) { r.SetBodyStream(selfWriter{strings.NewReader("abc")}, -1) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{"stream of unknown size", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader("abc"), -1) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{"stream writer", func(r *gallop.Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("ab"); w.Flush(); w.WriteString("c") })
		}, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"},
		{"stream writer of announced size", func(r *gallop.Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") })
			r.Header.SetContentLength(3)
		}, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc"},
		{"trailers", func(r *gallop.Response) {
			r.Header.SetTrailer("X-Sum")
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc"); r.Header.Set("X-Sum", "7") })
		}, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n"},
		{"HEAD of bytes", func(r *gallop.Response) { r.SkipBody = true; r.SetBodyString("abc") },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\n"},
		{"HEAD of a stream of unknown size", func(r *gallop.Response) { r.SkipBody = true; r.SetBodyStream(strings.NewReader("abc"), -1) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"HEAD with nothing", func(r *gallop.Response) { r.SkipBody = true }, "HTTP/1.1 200 OK\r\n\r\n"},
		{"HEAD with Content-Length and no body", func(r *gallop.Response) { r.SkipBody = true; r.Header.SetContentLength(7) },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 7\r\n\r\n"},
		{"204 of bytes", func(r *gallop.Response) { r.SetStatusCode(204); r.SetBodyString("abc") }, "HTTP/1.1 204 No Content\r\n\r\n"},
		{"204 of a stream", func(r *gallop.Response) { r.SetStatusCode(204); r.SetBodyStream(strings.NewReader("abc"), -1) }, "HTTP/1.1 204 No Content\r\n\r\n"},
		{"205 of bytes", func(r *gallop.Response) { r.SetStatusCode(205); r.SetBodyString("abc") }, "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"},
		{"205 of a stream", func(r *gallop.Response) { r.SetStatusCode(205); r.SetBodyStream(strings.NewReader("abc"), -1) },
			"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"},
		{"103", func(r *gallop.Response) { r.SetStatusCode(103); r.Header.Set("Link", "</a>") }, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"},
		{"304", func(r *gallop.Response) {
			r.SetStatusCode(304)
			r.Header.SetNoDefaultContentType(true)
			r.SetBodyString("abc")
		},
			"HTTP/1.1 304 Not Modified\r\n\r\n"},
		{"304 with Content-Length", func(r *gallop.Response) {
			r.SetStatusCode(304)
			r.Header.SetNoDefaultContentType(true)
			r.Header.SetContentLength(7)
		}, "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"},
		{"bytes instead of a stream", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader("abcdef"), 6); r.SetBodyString("x") },
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 1\r\n\r\nx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var resp gallop.Response
			tt.fill(&resp)
			var got strings.Builder
			n, err := resp.WriteTo(&got)
			if err != nil || n != int64(got.Len()) || got.String() != tt.want {
				t.Errorf("WriteTo: %d, %v\n got %q\nwant %q", n, err, got.String(), tt.want)
			}
		})
	}
}

// To a peer that speaks HTTP/1.0 a body of unknown size ends with the connection.
func TestResponseToHTTP10(t *testing.T) {
	const head = "HTTP/1.0 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
	for _, tt := range []struct {
		name string
		fill func(*gallop.Response)
		want string
	}{
		{"stream", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader("abc"), -1) }, head + "Connection: close\r\n\r\nabc"},
		{"stream writer", func(r *gallop.Response) { r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abc") }) }, head + "Connection: close\r\n\r\nabc"},
		{"stream of known size", func(r *gallop.Response) {
			r.SetBodyStream(strings.NewReader("abc"), 3)
			r.Header.Set("Connection", "keep-alive")
		},
			head + "Content-Length: 3\r\nConnection: keep-alive\r\n\r\nabc"},
	} {
		var resp gallop.Response
		resp.Header.SetProtocol([]byte("HTTP/1.0"))
		tt.fill(&resp)
		if got := resp.String(); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestResponseWriteErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		fill func(*gallop.Response)
		want error
	}{
		{"short stream", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader("ab"), 3) }, errShortStream},
		{"long stream", func(r *gallop.Response) { r.SetBodyStream(strings.NewReader("abcd"), 3) }, errLongStream},
		{"stream that fails", func(r *gallop.Response) { r.SetBodyStream(wiretest.Failing("ab"), -1) }, wiretest.ErrTest},
		{"stream that panics", func(r *gallop.Response) {
			r.SetBodyStream(wiretest.ReaderFunc(func([]byte) (int, error) { panic(wiretest.ErrTest) }), -1)
		}, wiretest.ErrTest},
		{"stream that panics when it is closed", func(r *gallop.Response) { r.SetBodyStream(panicCloser{strings.NewReader("abc")}, 3) }, wiretest.ErrTest},
		{"short stream that writes itself", func(r *gallop.Response) { r.SetBodyStream(selfWriter{strings.NewReader("ab")}, 3) }, errShortStream},
		{"long stream that writes itself", func(r *gallop.Response) { r.SetBodyStream(selfWriter{strings.NewReader("abcd")}, 3) }, errLongStream},
		{"stream of nothing for ever", func(r *gallop.Response) {
			r.SetBodyStream(wiretest.ReaderFunc(func([]byte) (int, error) { return 0, nil }), -1)
		}, io.ErrNoProgress},
		{"short stream writer", func(r *gallop.Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("ab") })
			r.Header.SetContentLength(3)
		}, errShortStream},
		{"long stream writer", func(r *gallop.Response) {
			r.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("abcd") })
			r.Header.SetContentLength(3)
		}, errLongStream},
		{"body that failed", func(r *gallop.Response) { r.SetBodyStream(wiretest.Failing("ab"), -1); r.Body() }, wiretest.ErrTest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var resp gallop.Response
			tt.fill(&resp)
			var got strings.Builder
			if _, err := resp.WriteTo(&got); !isError(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if strings.Contains(got.String(), "abcd") || strings.HasSuffix(got.String(), "0\r\n\r\n") {
				t.Errorf("written as if it were whole: %q", got.String())
			}
		})
	}
}

type panicCloser struct{ io.Reader }

func (panicCloser) Close() error { panic(wiretest.ErrTest) }

// selfWriter is not to be read.
type selfWriter struct{ io.WriterTo }

func (selfWriter) Read([]byte) (int, error)  { panic("read") }
func (selfWriter) SupportsBodyWriteTo() bool { return true }

// A file is sent as large as it was, whatever happens to it meanwhile.
func TestSendFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 3, 32<<10 + 3} {
		for _, change := range []int{0, 5, -2} {
			text := strings.Repeat("x", size)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var resp gallop.Response
			if err := resp.SendFile(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, int64(max(0, size+change))); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			_, err := resp.WriteTo(&out)
			if size+change < size && size > 0 {
				if !isError(err, errShortStream) {
					t.Errorf("%d bytes, then %d: %v", size, change, err)
				}
				continue
			}
			if head := fmt.Sprintf("Content-Length: %d\r\n", size); err != nil || !strings.Contains(out.String(), head) ||
				!strings.HasSuffix(out.String(), "\r\n\r\n"+text) || len(resp.Header.Peek("Last-Modified")) == 0 {
				t.Errorf("%d bytes, then %d: %v, %.200q", size, change, err, out.String())
			}
		}
	}
	var resp gallop.Response
	for _, bad := range []string{filepath.Dir(path), path + "x"} {
		if err := resp.SendFile(bad); err == nil || resp.IsBodyStream() {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestResponseAddresses(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	var resp gallop.Response
	if resp.ParseNetConn(a); resp.LocalAddr() != a.LocalAddr() || resp.RemoteAddr() != a.RemoteAddr() {
		t.Errorf("%v, %v", resp.LocalAddr(), resp.RemoteAddr())
	}
	if resp.Reset(); resp.LocalAddr() != nil || resp.RemoteAddr() != nil {
		t.Error("Reset left the addresses")
	}
}
