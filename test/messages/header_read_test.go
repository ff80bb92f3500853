package messages_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestReadRequestHead(t *testing.T) {
	const head = "POST /a?b HTTP/1.0\r\nhost: h\r\nX-A:1\r\nContent-Length: 3\r\nCONNECTION: Keep-Alive\r\n\r\n"
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "in halves": iotest.HalfReader,
	} {
		t.Run(name, func(t *testing.T) {
			r := bufio.NewReader(wrap(strings.NewReader(head + "abc" + head + "abc\r\n\r\n")))
			var h gallop.RequestHeader
			h.Set("Left", "over")
			for range 2 {
				wiretest.Must(t, h.Read(r))
				if string(h.Method()) != "POST" || string(h.RequestURI()) != "/a?b" || string(h.Protocol()) != "HTTP/1.0" ||
					h.IsHTTP11() || h.ContentLength() != 3 || h.ConnectionClose() ||
					lines(&h) != "host: h\nX-A: 1\nContent-Length: 3\nCONNECTION: Keep-Alive\n" {
					t.Errorf("%q", h.String())
				}
				if got := string(h.RawHeaders()); got != head[strings.Index(head, "host"):] {
					t.Errorf("raw %q", got)
				}
				_, _ = r.Discard(3)
			}
			if err := h.Read(r); err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
			if h.Len() > 0 || !h.IsGet() {
				t.Error("something is left after an error")
			}
		})
	}
}

func TestReadKeepsNoViewOfTheReader(t *testing.T) {
	const head = "GET /path HTTP/1.1\r\nHost: a\r\n\r\n"
	r := bufio.NewReaderSize(strings.NewReader(head+strings.Repeat("x", 4096)), 64)
	var h gallop.RequestHeader
	wiretest.Must(t, h.Read(r))
	_, _ = io.Copy(io.Discard, struct{ io.Reader }{r})
	if got := h.String(); got != head {
		t.Errorf("%q", got)
	}
}

func TestReceivedMeaning(t *testing.T) {
	for _, c := range []struct {
		name, head string
		length     int
		close      bool
	}{
		{"request, no length", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", -2, false},
		{"request, length 0", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 0, false},
		{"request, no length", "POST / HTTP/1.1\r\nHost: a\r\n\r\n", 0, false},
		{"HEAD, no length", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", -2, false},
		{"request, chunked", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", -1, false},
		{"request, HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", -2, true},
		{"request, HTTP/1.0 with keep-alive", "GET / HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n", -2, false},
		{"request, close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", -2, true},
		{"request, close on the first line", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: x\r\n\r\n", -2, true},
		{"response, no length", "HTTP/1.1 200 OK\r\n\r\n", -2, true},
		{"response, length", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", 7, false},
		{"response, 204", "HTTP/1.1 204 No Content\r\n\r\n", -2, false},
		{"response, 304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 7, false},
		{"response, HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\n", 7, true},
		{"response, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var req gallop.RequestHeader
			var resp gallop.ResponseHeader
			r := bufio.NewReader(strings.NewReader(c.head))
			var h interface {
				Read(*bufio.Reader) error
				ContentLength() int
				ConnectionClose() bool
			} = &resp
			if !strings.HasPrefix(c.head, "HTTP/") {
				h = &req
			}
			err := h.Read(r)
			if err != nil || h.ContentLength() != c.length || h.ConnectionClose() != c.close {
				t.Errorf("%v, length %d, close %v", err, h.ContentLength(), h.ConnectionClose())
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	small := &gallop.ErrSmallBuffer{}
	for _, c := range []struct {
		name, in string
		status   int
		is       error
	}{
		{"nothing", "", 0, io.EOF},
		{"cut off", "GET / HT", 0, io.ErrUnexpectedEOF},
		{"method", "G@T / HTTP/1.1\r\n\r\n", 400, gallop.ErrUnsupportedRequestMethod},
		{"target", "GET  / HTTP/1.1\r\n\r\n", 400, gallop.ErrExtraWhitespaceInRequestLine},
		{"blanks", "GET / a HTTP/1.1\r\n\r\n", 400, gallop.ErrExtraWhitespaceInRequestLine},
		{"version", "GET / HTTP/2.0\r\n\r\n", 505, nil},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400, nil},
		{"two lengths", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400, gallop.ErrDuplicateContentLength},
		{"bad length", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n", 400, gallop.ErrNonNumericChars},
		{"coding", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, gallop.ErrUnsupportedTransferEncoding},
		{"target too long", "GET /" + strings.Repeat("a", 17<<10) + " HTTP/1.1\r\n\r\n", 414, gallop.ErrSmallReadBuffer},
		{"head too large", "GET / HTTP/1.1\r\nA: " + strings.Repeat("a", 65<<10) + "\r\n\r\n", 431, gallop.ErrSmallReadBuffer},
		{"too many fields", "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A: b\r\n", 257) + "\r\n", 431, gallop.ErrSmallReadBuffer},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h gallop.RequestHeader
			err := h.Read(bufio.NewReaderSize(strings.NewReader(c.in), 128<<10))
			checkParseError(t, err, c.status, c.is)
			if c.status == 431 && !errors.As(err, &small) {
				t.Error("no *ErrSmallBuffer")
			}
			if h.Len() > 0 || len(h.RawHeaders()) > 0 {
				t.Error("something is left")
			}
		})
	}
	t.Run("larger than the buffer", func(t *testing.T) {
		var h gallop.ResponseHeader
		err := h.Read(bufio.NewReaderSize(strings.NewReader("HTTP/1.1 200 OK\r\n"+strings.Repeat("A: b\r\n", 99)+"\r\n"), 64))
		if !errors.As(err, &small) || !errors.Is(err, gallop.ErrSmallReadBuffer) {
			t.Error(err)
		}
	})
	t.Run("a connection that fails at once", func(t *testing.T) {
		var h gallop.ResponseHeader
		err := h.Read(bufio.NewReader(iotest.ErrReader(net.ErrClosed)))
		if err != io.EOF {
			t.Error(err)
		}
	})
	t.Run("a connection that fails later", func(t *testing.T) {
		var h gallop.ResponseHeader
		err := h.Read(bufio.NewReader(io.MultiReader(strings.NewReader("HTTP"), iotest.ErrReader(os.ErrDeadlineExceeded))))
		if nothing := (gallop.ErrNothingRead{}); errors.As(err, &nothing) || !errors.Is(err, os.ErrDeadlineExceeded) ||
			!errors.Is(err, gallop.ErrReadingResponseHeaders) {
			t.Error(err)
		}
	})
	t.Run("status line", func(t *testing.T) {
		var h gallop.ResponseHeader
		err := h.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 2000 OK\r\n\r\n")))
		checkParseError(t, err, 400, gallop.ErrUnexpectedStatusCodeChar)
	})
}

func TestWaysToWriteAreOne(t *testing.T) {
	var req gallop.RequestHeader
	var resp gallop.ResponseHeader
	req.SetHost("a")
	resp.SetContentLength(3)
	for _, h := range []interface {
		AppendBytes([]byte) []byte
		Header() []byte
		String() string
		Write(*bufio.Writer) error
		WriteTo(io.Writer) (int64, error)
	}{&req, &resp} {
		want := h.String()
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		wiretest.Must(t, h.Write(w))
		wiretest.Must(t, w.Flush())
		n, err := h.WriteTo(&b)
		if err != nil || int(n) != len(want) || b.String() != want+want || string(h.Header()) != want ||
			string(h.AppendBytes([]byte("x"))) != "x"+want {
			t.Errorf("%q, want %q twice", b.String(), want)
		}
	}
}
