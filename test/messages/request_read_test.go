package messages_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gallop-http/gallop"
	parts "github.com/gallop-http/gallop/internal/multipart"
)

const post = "POST / HTTP/1.1\r\nHost: a\r\n"

// Read takes one message and leaves what follows, however the bytes arrive.
func TestRequestRead(t *testing.T) {
	for _, tt := range []struct{ name, in, body, trailer string }{
		{"no body", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", ""},
		{"fixed", post + "Content-Length: 3\r\n\r\nabc", "abc", ""},
		{"fixed of no bytes", post + "Content-Length: 0\r\n\r\n", "", ""},
		{"fixed over the buffer", post + "Content-Length: 10000\r\n\r\n" + strings.Repeat("x", 10000), strings.Repeat("x", 10000), ""},
		{"chunked", post + "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nX: 1\r\n\r\n", "abcd", "1"},
		{"chunked of no bytes", post + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", ""},
		{"chunk over the buffer", post + "Transfer-Encoding: chunked\r\n\r\n2710\r\n" + strings.Repeat("x", 10000) + "\r\n0\r\n\r\n", strings.Repeat("x", 10000), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := tt.in + "next"
			for _, r := range []*bufio.Reader{
				bufio.NewReader(strings.NewReader(in)),
				bufio.NewReader(iotest.OneByteReader(strings.NewReader(in))),
			} {
				var req gallop.Request
				if err := req.Read(r); err != nil {
					t.Fatal(err)
				}
				rest, _ := io.ReadAll(r)
				if string(req.Body()) != tt.body || string(req.Header.PeekTrailer("X")) != tt.trailer || string(rest) != "next" {
					t.Errorf("body %.40q, trailer %q, rest %.40q", req.Body(), req.Header.PeekTrailer("X"), rest)
				}
			}
		})
	}
}

// The same as a stream: nothing is read ahead, and Close goes to the end.
func TestContinueReadBodyStream(t *testing.T) {
	for _, tt := range []struct{ name, in, body string }{
		{"no body", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"fixed", post + "Content-Length: 3\r\n\r\nabc", "abc"},
		{"chunked", post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\nX: 1\r\n\r\n", "abcd"},
	} {
		for _, read := range []int{0, 1, 100} {
			r := bufio.NewReader(strings.NewReader(tt.in + "next"))
			var req gallop.Request
			req.SetBodyString("that of the request before")
			if err := req.Header.Read(r); err != nil {
				t.Fatal(err)
			}
			if err := req.ContinueReadBodyStream(r, 0); err != nil {
				t.Fatal(err)
			}
			if !req.IsBodyStream() && len(req.Body()) > 0 {
				t.Errorf("%s: the body is %q", tt.name, req.Body())
			}
			if s := req.BodyStream(); s != nil {
				got, err := io.ReadAll(io.LimitReader(s, int64(read)))
				if want := tt.body[:min(read, len(tt.body))]; string(got) != want || err != nil {
					t.Errorf("%s: read %q, %v", tt.name, got, err)
				}
			}
			if err := req.CloseBodyStream(); err != nil {
				t.Errorf("%s: close: %v", tt.name, err)
			}
			if rest, _ := io.ReadAll(r); string(rest) != "next" {
				t.Errorf("%s, %d bytes read: %q is left", tt.name, read, rest)
			}
		}
	}
}

func TestRequestReadErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		in    string
		limit int
		want  error
	}{
		{"nothing", "", 0, io.EOF},
		{"half a head", "GET / HT", 0, io.ErrUnexpectedEOF},
		{"body cut off", post + "Content-Length: 5\r\n\r\nabc", 0, io.ErrUnexpectedEOF},
		{"chunked body cut off", post + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", 0, io.ErrUnexpectedEOF},
		{"two framings", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, gallop.ErrUnsupportedTransferEncoding},
		{"fixed over the limit", post + "Content-Length: 5\r\n\r\nabcde", 4, gallop.ErrBodyTooLarge},
		{"fixed at the limit", post + "Content-Length: 5\r\n\r\nabcde", 5, nil},
		{"chunked over the limit", post + "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", 4, gallop.ErrBodyTooLarge},
		{"chunked at the limit", post + "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", 5, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var req gallop.Request
			if err := req.ReadLimitBody(bufio.NewReader(strings.NewReader(tt.in)), tt.limit); !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if tt.want != nil && len(req.Body()) != 0 {
				t.Errorf("body %q after an error", req.Body())
			}
		})
	}
}

// A request that waits for 100 is read in two steps.
func TestRequestReadExpect(t *testing.T) {
	r := bufio.NewReader(strings.NewReader(post + "Expect: 100-Continue\r\nContent-Length: 3\r\n\r\nabcnext"))
	var req gallop.Request
	if err := req.Read(r); err != nil || !req.MayContinue() || len(req.Body()) != 0 {
		t.Fatalf("%v, may continue %v, body %q", err, req.MayContinue(), req.Body())
	}
	if err := req.ContinueReadBody(r, 0); err != nil || string(req.Body()) != "abc" {
		t.Errorf("%v, body %q", err, req.Body())
	}
	r = bufio.NewReader(strings.NewReader("POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"))
	if err := req.Read(r); err != nil || req.MayContinue() || string(req.Body()) != "abc" {
		t.Errorf("HTTP/1.0: %v, may continue %v, body %q", err, req.MayContinue(), req.Body())
	}
}

func TestRequestReadBody(t *testing.T) {
	for _, tt := range []struct {
		name   string
		length int
		in     string
		body   string
	}{
		{"fixed", 3, "abcdef", "abc"}, {"chunked", -1, "3\r\nabc\r\n0\r\n\r\n", "abc"}, {"until the end", -2, "abcdef", "abcdef"},
	} {
		var req gallop.Request
		if err := req.ReadBody(bufio.NewReader(strings.NewReader(tt.in)), tt.length, 0); err != nil || string(req.Body()) != tt.body {
			t.Errorf("%s: %v, body %q", tt.name, err, req.Body())
		}
	}
}

// A form is parsed as it is read. Bytes after its closing boundary in the body are part of this message, and never of
// the next one.
func TestRequestReadForm(t *testing.T) {
	form := "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--X--\r\n"
	smuggled := form + strings.Repeat(" ", 5000) + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	head := post + "Content-Type: multipart/form-data; boundary=X\r\n"
	fixed := func(body string) string { return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body) }
	for _, tt := range []struct {
		name string
		in   string
		err  error
	}{
		{"fixed", fixed(form), nil},
		{"fixed, with an epilogue", fixed(smuggled), nil},
		{"chunked", head + "Transfer-Encoding: chunked\r\n\r\n3b\r\n" + form + "\r\n0\r\n\r\n", nil},
		{"cut off", fixed(form[:40]), io.ErrUnexpectedEOF},
		{"not a form", fixed("abc"), parts.ErrDelimiter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := bufio.NewReader(strings.NewReader(tt.in + "next"))
			var req gallop.Request
			err := req.Read(r)
			if tt.err != nil {
				if !errors.Is(err, tt.err) {
					t.Fatalf("error %v, want %v", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := req.MultipartForm(); err != nil || strings.Join(got.Value["a"], ",") != "1" {
				t.Errorf("form %v, %v", got, err)
			}
			if rest, _ := io.ReadAll(r); string(rest) != "next" {
				t.Errorf("%q is left", rest)
			}
			// The body is the form, put together again, as often as it is written.
			for range 2 {
				var out bytes.Buffer
				if err := req.BodyWriteTo(&out); err != nil || !strings.Contains(out.String(), `name="a"`) {
					t.Errorf("%q, %v", out.String(), err)
				}
			}
			again, err := multipart.NewReader(bytes.NewReader(req.Body()), "X").ReadForm(1 << 20)
			if err != nil || strings.Join(again.Value["a"], ",") != "1" {
				t.Errorf("Body() as a form: %v, %v", again, err)
			}
		})
	}
}

// Values that a program has set on a request stay when another request is read into it. Programs that serve requests
// themselves set values before they read.
func TestReadKeepsUserValues(t *testing.T) {
	var req gallop.Request
	var closed countCloser
	req.SetUserValue("k", &closed)
	if err := req.Read(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	if req.UserValue("k") == nil || closed != 0 {
		t.Errorf("%v, closed %d times", req.UserValue("k"), closed)
	}
}
