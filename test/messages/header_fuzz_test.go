package messages_test

import (
	"bufio"
	"bytes"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/field"
)

// endToEnd shows the fields that do not frame the message and do not steer the
// connection, and what the others mean.
func endToEnd(h interface {
	All() iter.Seq2[[]byte, []byte]
	IsHTTP11() bool
	ConnectionClose() bool
	ConnectionUpgrade() bool
}) string {
	var b strings.Builder
	for name, value := range h.All() {
		switch field.Lookup(name) {
		case field.ContentLength, field.TransferEncoding, field.Connection, field.Trailer:
		case field.Expect:
			if h.IsHTTP11() { // in HTTP/1.0 it means nothing, and is not passed on
				fmt.Fprintf(&b, "expects %q\n", value)
			}
		default:
			fmt.Fprintf(&b, "%s: %q\n", name, value)
		}
	}
	fmt.Fprintf(&b, "close %v, upgrade %v", h.ConnectionClose(), h.ConnectionUpgrade())
	return b.String()
}

// FuzzRequestHeaderRead holds that what Read accepts is written so that Read makes
// the same of it.
func FuzzRequestHeaderRead(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close, X\r\nconnection: upgrade\r\n\r\nabcde",
		"PUT * HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
		"GET / HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
		"POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
		"GET / HTTP/1.0\r\nHost: a\r\nConnection: Upgrade, keep-alive\r\nUpgrade: x\r\n\r\n",
		"PATCH / HTTP/1.1\r\nHost:\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\nCookie: a=b\r\nCookie: c\r\nX: \t y\t \r\n\r\n",
		"\r\nOPTIONS http://a/ HTTP/1.7\r\nhost:a\r\nExpect: 100-continue\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var h gallop.RequestHeader
		if h.Read(bufio.NewReaderSize(bytes.NewReader(in), 1<<17)) != nil {
			return
		}
		if h.Host() == nil {
			return // allowed in HTTP/1.0, but it goes out as HTTP/1.1
		}
		out := h.AppendBytes(nil)
		var again gallop.RequestHeader
		r := bufio.NewReaderSize(bytes.NewReader(out), 1<<17)
		if err := again.Read(r); err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		if r.Buffered() > 0 {
			t.Errorf("%d bytes behind the head in %q", r.Buffered(), out)
		}
		if string(again.Method()) != string(h.Method()) || string(again.RequestURI()) != string(h.RequestURI()) ||
			again.ContentLength() != h.ContentLength() || endToEnd(&again) != endToEnd(&h) {
			t.Errorf("read  %q\nwrote %q\n%s\n%s", in, out, endToEnd(&h), endToEnd(&again))
		}
		if twice := again.AppendBytes(nil); !bytes.Equal(twice, out) {
			t.Errorf("wrote %q\nand   %q", out, twice)
		}
	})
}

// FuzzResponseHeaderRead holds the same for responses.
func FuzzResponseHeaderRead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\nabcde",
		"HTTP/1.0 404\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"HTTP/1.0 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"HTTP/1.1 304 \r\nContent-Length: 7\r\nX: a\r\n  b\r\n\r\n",
		"HTTP/1.1 799 \xff\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n",
		"HTTP/1.1 200 until close\r\n\r\n",
		"HTTP/1.1 000 \r\n\r\n",
		"HTTP/1.1 304 \r\nX: a\r\n \r\n b\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var h, again gallop.ResponseHeader
		if h.Read(bufio.NewReaderSize(bytes.NewReader(in), 1<<17)) != nil {
			return
		}
		out := h.AppendBytes(nil)
		r := bufio.NewReaderSize(bytes.NewReader(out), 1<<17)
		if err := again.Read(r); err != nil || r.Buffered() > 0 {
			t.Fatalf("%v, %d bytes behind %q", err, r.Buffered(), out)
		}
		code := h.StatusCode()
		if code < 100 || again.StatusCode() != code || len(h.StatusMessage()) > 0 && !bytes.Equal(h.StatusMessage(), again.StatusMessage()) {
			t.Errorf("status %d %q, %d %q", code, h.StatusMessage(), again.StatusCode(), again.StatusMessage())
		}
		if code >= 200 && code != 204 && again.ContentLength() != h.ContentLength() {
			t.Errorf("length %d, %d", h.ContentLength(), again.ContentLength())
		}
		if endToEnd(&again) != endToEnd(&h) {
			t.Errorf("read  %q\nwrote %q\n%s\n%s", in, out, endToEnd(&h), endToEnd(&again))
		}
	})
}
