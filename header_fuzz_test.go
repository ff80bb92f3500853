package gallop

import (
	"bufio"
	"bytes"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
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
		var h RequestHeader
		if h.Read(bufio.NewReaderSize(bytes.NewReader(in), 1<<17)) != nil {
			return
		}
		if h.Host() == nil {
			return // allowed in HTTP/1.0, but it goes out as HTTP/1.1
		}
		out := h.AppendBytes(nil)
		var again RequestHeader
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
		var h, again ResponseHeader
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

// FuzzHeaderSetters holds that whatever setters are given, what goes out is one
// head with the fields that were accepted, and nothing behind it.
func FuzzHeaderSetters(f *testing.F) {
	f.Add("X", "v", "/", uint8(0))
	f.Add("Connection", "close, upgrade", "/a b", uint8(1))
	f.Add("content-length", "5", "*", uint8(2))
	f.Add("Transfer-Encoding", "chunked", "http://a/", uint8(3))
	f.Add("Trailer", "X-Sum", "/", uint8(4))
	f.Add("X\r\nY", "a\r\nb: c", "/ HTTP/1.1\r\n", uint8(5))
	f.Add("Cookie", "a=b; c", "/", uint8(6))
	f.Add("Host", "h", "/", uint8(7))
	f.Fuzz(func(t *testing.T, name, value, target string, which uint8) {
		if len(name)+len(value)+len(target) > 2<<10 {
			return // Read has limits: of trailers, which may have all of it twice, and of a target, in which a blank becomes three bytes
		}
		var req RequestHeader
		var resp ResponseHeader
		req.SetHost("a")
		req.SetMethod(name)
		req.SetMethod(value)
		req.SetRequestURI(target)
		req.SetCookie(name, value)
		resp.SetStatusMessage([]byte(target))
		resp.SetStatusCode(100 + len(value)%900)
		if which&1 != 0 {
			_ = req.SetTrailer(value)
			_ = resp.AddTrailer(name)
		}
		if which&2 != 0 {
			req.EnableNormalizing()
			req.SetContentLength(int(which) - 8)
			resp.SetContentLength(int(which) - 8)
		}
		for _, h := range []*header{&req.header, &resp.header} {
			h.Add("X-Before", "kept")
			h.Set(name, value)
			h.Add(name, target)
			h.Add(value, name)
			if which&4 != 0 {
				h.SetConnectionClose()
				h.Del(target)
			}
			checkInStep(t, h)
		}
		checkOneHead(t, req.AppendBytes(nil), &req.header, func(r *bufio.Reader) (*header, error) {
			var h RequestHeader
			err := h.Read(r)
			if err == nil && (!bytes.Equal(h.Method(), req.Method()) || !bytes.Equal(h.RequestURI(), req.RequestURI())) {
				err = fmt.Errorf("the first line became %q %q", h.Method(), h.RequestURI())
			}
			return &h.header, err
		})
		checkOneHead(t, resp.AppendBytes(nil), &resp.header, func(r *bufio.Reader) (*header, error) {
			var h ResponseHeader
			err := h.Read(r)
			return &h.header, err
		})
	})
}

// checkOneHead reads out and wants one head with the fields of h.
func checkOneHead(t *testing.T, out []byte, h *header, read func(*bufio.Reader) (*header, error)) {
	t.Helper()
	r := bufio.NewReaderSize(bytes.NewReader(out), 1<<17)
	got, err := read(r)
	if err != nil || r.Buffered() > 0 {
		t.Fatalf("%v, %d bytes behind %q", err, r.Buffered(), out)
	}
	for name, value := range h.All() {
		switch id := field.Lookup(name); id {
		case field.ContentLength, field.TransferEncoding, field.Connection, field.Trailer:
		default:
			if !contains(got.PeekAll(string(name)), value) {
				t.Fatalf("%s: %q is lost in %q", name, value, out)
			}
		}
	}
	want := h.Len() + 2 // a Content-Type and a Connection may have been added
	if got.Len() > want {
		t.Fatalf("%d fields, at most %d, in %q", got.Len(), want, out)
	}
	section := h.TrailerHeader()
	var back header
	if err := back.ReadTrailer(bufio.NewReaderSize(bytes.NewReader(section), 1<<17)); err != nil || back.trailers.Len() != h.trailers.Len() {
		t.Fatalf("%v in the trailers %q", err, section)
	}
}

// checkInStep wants text and meaning of the steering fields to be the same.
func checkInStep(t *testing.T, h *header) {
	t.Helper()
	var length string
	if h.head.Body == message.Fixed {
		length = string(ascii.AppendUint(nil, uint64(h.head.Length)))
	}
	if got := string(h.Peek("Content-Length")); got != length {
		t.Errorf("Content-Length is %q, and means %q", got, length)
	}
	if chunked := h.head.Body == message.Chunked; (h.Peek("Transfer-Encoding") != nil) != chunked {
		t.Errorf("Transfer-Encoding is %q, chunked %v", h.Peek("Transfer-Encoding"), chunked)
	}
	has := func(token string) bool {
		for _, list := range h.PeekAll("Connection") {
			if ascii.HasToken(list, token) {
				return true
			}
		}
		return false
	}
	if has("close") != (h.head.Flags&message.ConnectionClose != 0) || has("upgrade") != h.ConnectionUpgrade() {
		t.Errorf("Connection is %q, flags %b", h.PeekAll("Connection"), h.head.Flags)
	}
	for i := range h.trailers.Len() {
		if name, _ := h.trailers.At(i); http1.ForbiddenTrailer(h.trailers.ID(i), name) {
			t.Errorf("forbidden trailer in %q", h.TrailerHeader())
		}
	}
}

func contains(values [][]byte, value []byte) bool {
	for _, v := range values {
		if bytes.Equal(v, value) {
			return true
		}
	}
	return false
}
