package gallop

import (
	"bufio"
	"bytes"
	"fmt"
	"log"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestCopiesShareNothing(t *testing.T) {
	var h, c RequestHeader
	h.SetMethod("PUT")
	h.SetRequestURI("/x")
	h.SetProtocol("HTTP/1.0")
	h.SetHost("a")
	h.SetContentLength(3)
	h.SetConnectionClose()
	wiretest.Must(t, h.SetTrailer("T"))
	h.Set("T", "1")
	h.SetNoDefaultContentType(true)
	c.Set("Left", "over")
	h.CopyTo(&c)
	h.CopyTo(&h)
	want := h.String() + string(h.TrailerHeader())
	h.Set("X", "only here")
	h.Set("Host", "b")
	h.poison()
	h.Reset()
	if got := c.String() + string(c.TrailerHeader()); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if c.ContentLength() != 3 || !c.ConnectionClose() || c.IsHTTP11() || !c.IsPut() {
		t.Error("the copy means something else")
	}
}

func TestPoisonShows(t *testing.T) {
	var h RequestHeader
	h.Set("X", "value")
	view, head := h.Peek("X"), h.Header()
	h.poison()
	if string(view) != "\xdb\xdb\xdb\xdb\xdb" || head[0] != 0xdb {
		t.Errorf("%q, %q", view, head)
	}
}

// A name that a setter refuses is logged once, and no more than maxRefusedNames are.
func TestRefusedNamesAreLoggedOnce(t *testing.T) {
	was, seen := defaultLogger, refusedNames.seen
	defer func() { defaultLogger, refusedNames.seen = was, seen }()
	var out strings.Builder
	defaultLogger, refusedNames.seen = log.New(&out, "", 0), nil

	var req RequestHeader
	var resp ResponseHeader
	long := strings.Repeat("é", 1000)
	for range 3 {
		req.Set("a b", "1")
		req.Add("a b", "1")
		req.SetBytesKV([]byte("a b"), []byte("1"))
		resp.Set("a b", "1")
		resp.Set("", "1")
		resp.Set("x\r\ny", "1")
		resp.Set(long, "1")
		resp.Set("fine", "a value\x00 that is cleaned")
	}
	if req.Len()+resp.Len() != 1 {
		t.Errorf("%d and %d fields", req.Len(), resp.Len())
	}
	want := []string{`"a b"`, `""`, `"x\r\ny"`, `"` + strings.Repeat("é", maxRefusedName/len("é")) + `"`}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) || !strings.Contains(line, "RFC 9110") {
			t.Errorf("%q, want %s", line, want[i])
		}
	}
	for i := range 10 * maxRefusedNames {
		resp.Set(fmt.Sprint("no name ", i), "1")
	}
	if n := strings.Count(out.String(), "\n"); n != maxRefusedNames {
		t.Errorf("%d lines", n)
	}
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
		if name, _ := h.trailers.At(i); message.ForbiddenTrailer(h.trailers.ID(i), name) {
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

// Set and its variants belong to RequestHeader and ResponseHeader, which differ in what they do with
// cookies. Tests of what the two share call these.

func (h *header) Set(key, value string) { h.SetBytesKV(UnsafeBytes(key), UnsafeBytes(value)) }

func (h *header) SetBytesK(key []byte, value string) { h.SetBytesKV(key, UnsafeBytes(value)) }

func (h *header) SetBytesV(key string, value []byte) { h.SetBytesKV(UnsafeBytes(key), value) }

func (h *header) SetBytesKV(key, value []byte) { h.put(field.Lookup(key), key, value, false) }

func (h *header) SetCanonical(key, value []byte) {
	normalizes := h.DisableNormalizing()
	h.SetBytesKV(key, value)
	h.changeFlag(namesAsGiven, !normalizes)
}

// bitwise copies a message as an assignment does, without go vet seeing it.
func bitwise[T any](dst, src *T) { reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem()) }

// A message must not be copied by value. If somebody does, the copy is wrong and go vet says so, but nothing panics.
func TestMessagesCopiedByValueDoNotPanic(t *testing.T) {
	heads := []string{
		"GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\n",
		"POST /" + strings.Repeat("long", 500) + " HTTP/1.1\r\nHost: example.org\r\n" + strings.Repeat("x-many-more: value\r\n", 40) +
			"Cookie: a=b\r\nContent-Length: 5\r\n\r\n",
	}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		var req, copied Request
		var resp, copiedResp Response
		read := func(head string) {
			req.Header.Reset()
			if _, err := new(http1.Parser).ParseRequest(&req.Header.head, []byte(head), &readLimits); err != nil {
				t.Fatal(err)
			}
			resp.Reset()
			for range len(head) / 50 {
				resp.Header.Add("X-Some-Name", head[:40])
			}
		}
		read(heads[order[0]])
		bitwise(&copied, &req)
		bitwise(&copiedResp, &resp)
		read(heads[order[1]])
		useRequest(&copied)
		useRequest(&req)
		useResponse(&copiedResp)
		useResponse(&resp)
	}
}

func useRequest(req *Request) {
	useHeader(&req.Header.header)
	_, _ = req.String(), req.URI().String()
	req.Header.Cookie("a")
	req.Header.Set("Cookie", "a=b")
	req.PostArgs()
	req.CopyTo(new(Request))
	req.Reset()
}

func useResponse(resp *Response) {
	useHeader(&resp.Header.header)
	_ = resp.String()
	resp.CopyTo(new(Response))
	resp.Reset()
}

func useHeader(h *header) {
	for name := range h.All() {
		h.PeekAll(string(name))
	}
	h.PeekKeys()
	h.PeekTrailerKeys()
	h.Add("X-New", strings.Repeat("v", 100))
	h.Del("x-a")
	h.makeRoom(1 << 20)
}

// go vet reports copies of what holds a sync.Locker.
func TestVetSeesCopiesOfMessages(t *testing.T) {
	var _ sync.Locker = (*noCopy)(nil)
	for _, v := range []any{new(Request), new(Response), new(RequestHeader), new(ResponseHeader), new(URI), new(Args), new(Cookie)} {
		if f := reflect.TypeOf(v).Elem().Field(0); f.Type != reflect.TypeFor[noCopy]() {
			t.Errorf("%T begins with %s", v, f.Name)
		}
	}
}

func TestQualityIsReadInThousandths(t *testing.T) {
	for i := range 1001 {
		s := fmt.Sprintf("%d.%03d", i/1000, i%1000)
		if got := parseQuality([]byte(s)); int(got) != i {
			t.Errorf("%q: %d", s, got)
		}
	}
	for s, want := range map[string]int16{"0": 0, "1": 1000, "0.": 0, "1.": 1000, "0.5": 500, "0.05": 50, "1.0": 1000} {
		if got := parseQuality([]byte(s)); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}
