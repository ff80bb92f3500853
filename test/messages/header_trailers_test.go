package messages_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func trailerNames(h interface{ PeekTrailerKeys() [][]byte }) string {
	return fmt.Sprintf("%s", h.PeekTrailerKeys())
}

func TestAnnouncedFieldsGoBehindTheBody(t *testing.T) {
	for _, c := range []struct {
		name                     string
		build                    func(h *gallop.RequestHeader) error
		fields, trailers, listed string
	}{
		{"set after", func(h *gallop.RequestHeader) error {
			defer h.Set("x-sum", "1")
			return h.SetTrailer("X-Sum")
		}, "Trailer: X-Sum\n", "X-Sum: 1\r\n\r\n", "[X-Sum]"},
		{"set before", func(h *gallop.RequestHeader) error {
			h.Add("X-Sum", "1")
			h.Add("Y", "2")
			h.Add("x-sum", "3")
			return h.SetTrailer("X-Sum")
		}, "Y: 2\nTrailer: X-Sum\n", "X-Sum: 1\r\nX-Sum: 3\r\n\r\n", "[X-Sum]"},
		{"more", func(h *gallop.RequestHeader) error {
			h.Set("B", "2")
			return errors.Join(h.SetTrailer("a"), h.AddTrailer(" B\t,, c-etag, ETAG"))
		}, "Trailer: A, B, C-Etag, ETag\n", "B: 2\r\n\r\n", "[A B C-Etag Etag]"},
		{"spelled otherwise", func(h *gallop.RequestHeader) error {
			h.DisableNormalizing()
			return h.SetTrailer("x-SUM")
		}, "Trailer: x-SUM\n", "\r\n", "[x-SUM]"},
		{"other ones", func(h *gallop.RequestHeader) error {
			defer h.Add("B", "2")
			err := h.SetTrailer("A")
			h.Set("A", "1")
			return errors.Join(err, h.SetTrailer("B"))
		}, "A: 1\nTrailer: B\n", "B: 2\r\n\r\n", "[B]"},
		{"none", func(h *gallop.RequestHeader) error {
			err := h.SetTrailer("A")
			h.Set("A", "1")
			return errors.Join(err, h.SetTrailer(""))
		}, "A: 1\n", "\r\n", "[]"},
		{"as a field", func(h *gallop.RequestHeader) error {
			h.Set("trailer", "A")
			h.Add("Trailer", "B")
			h.Set("A", "1")
			return nil
		}, "Trailer: A, B\n", "A: 1\r\n\r\n", "[A B]"},
		{"deleted", func(h *gallop.RequestHeader) error {
			err := h.SetTrailer("A")
			h.Set("A", "1")
			h.Del("a")
			return err
		}, "Trailer: A\n", "\r\n", "[A]"},
		{"announcement deleted", func(h *gallop.RequestHeader) error {
			err := h.SetTrailer("A")
			h.Set("A", "1")
			h.Del("Trailer")
			h.Set("A", "2")
			return err
		}, "A: 2\n", "\r\n", "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h gallop.RequestHeader
			wiretest.Must(t, c.build(&h))
			if lines(&h) != c.fields || string(h.TrailerHeader()) != c.trailers || trailerNames(&h) != c.listed {
				t.Errorf("%q, %q, %s", lines(&h), h.TrailerHeader(), trailerNames(&h))
			}
		})
	}
}

func TestAnnouncedFieldsAreFound(t *testing.T) {
	var h gallop.ResponseHeader
	wiretest.Must(t, h.SetTrailer("X-Sum"))
	h.Add("X-Sum", "1")
	h.Add("x-sum", "2")
	if string(h.Peek("X-SUM")) != "1" || string(h.PeekTrailer("X-SUM")) != "1" || len(h.PeekAll("X-Sum")) != 2 {
		t.Error("not found")
	}
}

func TestForbiddenTrailers(t *testing.T) {
	var h gallop.RequestHeader
	wiretest.Must(t, h.SetTrailer("A"))
	for _, name := range []string{"Content-Length", "transfer-encoding", "Host", "Trailer", "Authorization", "Cookie",
		"Set-Cookie", "content-type", "Content-Range", "Location", "X-Forwarded-For", "x-forwarded-port", "Max-Forwards", "Host, Connection", "not a token", "a:"} {
		for _, err := range []error{h.SetTrailer(name), h.AddTrailer(name), h.SetTrailerBytes([]byte(name)), h.AddTrailerBytes([]byte(name))} {
			if err != gallop.ErrBadTrailer {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	if got := trailerNames(&h); got != "[A]" {
		t.Errorf("what was refused changed them to %s", got)
	}
	if err := h.AddTrailer("B, Content-Length, C,not a token"); err != gallop.ErrBadTrailer || trailerNames(&h) != "[A B C]" {
		t.Errorf("%v, %s", err, trailerNames(&h))
	}
	if err := h.SetTrailer("Host,D"); err != gallop.ErrBadTrailer || trailerNames(&h) != "[D]" {
		t.Errorf("%v, %s", err, trailerNames(&h))
	}
}

func TestAppendTrailer(t *testing.T) {
	var h gallop.ResponseHeader
	h.Set("X-Sum", "of the head")
	for _, c := range []struct {
		name, value string
		want        error
	}{
		{"x-sum", "1", nil}, {"X-Sum", " 2 ", nil}, {"Grpc-Status", "", nil},
		{"Content-Length", "1", gallop.ErrBadTrailer}, {"Host", "a", gallop.ErrBadTrailer}, {"x-forwarded-for", "a", gallop.ErrBadTrailer},
		{"not a token", "1", gallop.ErrBadTrailer}, {"", "1", gallop.ErrBadTrailer}, {"A", "1\r\nB: 2", gallop.ErrBadTrailer},
	} {
		if err := h.AppendTrailer(c.name, c.value); err != c.want {
			t.Errorf("%q: %v", c.name, err)
		}
	}
	if got := string(h.TrailerHeader()); got != "X-Sum: 1\r\nX-Sum: 2\r\nGrpc-Status: \r\n\r\n" {
		t.Errorf("trailers %q", got)
	}
	if string(h.Peek("X-Sum")) != "of the head" || h.Peek("Trailer") != nil {
		t.Errorf("head %q", h.Header())
	}
}

func TestReceivedTrailersAreNotMerged(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-None\r\nTrailer: X-Auth-User\r\n\r\n"
	const section = "X-Sum: 1\r\nX-Auth-User: root\r\nContent-Type: text/evil\r\nHost: b\r\nX-Forwarded-Prefix: /admin\r\nMax-Forwards: 1\r\nx-sum: 2\r\n\r\n"
	r := bufio.NewReader(strings.NewReader(head + section + "next"))
	var h gallop.RequestHeader
	wiretest.Must(t, h.Read(r))
	wiretest.Must(t, h.ReadTrailer(r))
	if rest, _ := io.ReadAll(r); string(rest) != "next" {
		t.Errorf("left is %q", rest)
	}
	for _, name := range []string{"X-Sum", "X-Auth-User", "Content-Type"} {
		if v := h.Peek(name); v != nil {
			t.Errorf("Peek(%s) = %q", name, v)
		}
	}
	if string(h.Host()) != "a" || string(h.PeekTrailer("x-SUM")) != "1" || string(h.PeekTrailer("x-auth-user")) != "root" {
		t.Errorf("host %q, trailers %q", h.Host(), h.TrailerHeader())
	}
	if h.PeekTrailer("Content-Type") != nil || h.PeekTrailer("Host") != nil {
		t.Error("a forbidden trailer came through")
	}
	if got := trailerNames(&h); got != "[X-Sum X-None X-Auth-User]" {
		t.Errorf("names %s", got)
	}
	var all []string
	for name, value := range h.AllTrailers() {
		all = append(all, string(name)+"="+string(value))
	}
	if got := strings.Join(all, " "); got != "X-Sum=1 X-Auth-User=root X-Sum=2" {
		t.Error(got)
	}
	h.Set("X-Sum", "mine") // a received Trailer announces nothing of ours
	if string(h.Peek("X-Sum")) != "mine" || string(h.PeekTrailer("X-Sum")) != "1" {
		t.Error("a field was stored with the received trailers")
	}
}

// A later announcement does not turn received trailers into fields.
func TestReceivedTrailersStayApartFromAnnouncedOnes(t *testing.T) {
	for _, c := range []struct {
		name  string
		after func(h *gallop.ResponseHeader) error
		want  string // of the head
	}{
		{"announced", func(h *gallop.ResponseHeader) error { return h.AddTrailer("X-Sum") }, "Trailer: X-Sum\n"},
		{"another one", func(h *gallop.ResponseHeader) error {
			return errors.Join(h.AddTrailer("X-Sum"), h.SetTrailer("X-Other"))
		}, "Trailer: X-Other\n"},
		{"withdrawn", func(h *gallop.ResponseHeader) error { return errors.Join(h.AddTrailer("X-Sum"), h.SetTrailer("")) }, ""},
		{"deleted", func(h *gallop.ResponseHeader) error {
			err := h.AddTrailer("X-Sum")
			h.Set("X-Sum", "1")
			h.Del("X-Auth-User")
			h.Del("trailer")
			return err
		}, "X-Sum: 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h gallop.ResponseHeader
			r := bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nX-Auth-User: root\r\n\r\n"))
			wiretest.Must(t, h.Read(r))
			wiretest.Must(t, h.ReadTrailer(r))
			wiretest.Must(t, c.after(&h))
			if got := strings.ReplaceAll(lines(&h), "Transfer-Encoding: chunked\n", ""); got != c.want {
				t.Errorf("the head is %q", got)
			}
			if h.Peek("X-Auth-User") != nil || len(h.PeekAll("X-Auth-User")) > 0 || string(h.PeekTrailer("X-Auth-User")) != "root" {
				t.Errorf("Peek %q, PeekTrailer %q", h.Peek("X-Auth-User"), h.PeekTrailer("X-Auth-User"))
			}
		})
	}
}

func TestReadTrailerErrors(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		status int // of a ParseError
		is     error
	}{
		"nothing":     {"", 0, io.EOF},
		"cut off":     {"A: b\r\n", 0, io.ErrUnexpectedEOF},
		"no colon":    {"A\r\n\r\n", 400, nil},
		"bare LF":     {"A: b\n\r\n", 400, nil},
		"NUL":         {"A: b\x00\r\n\r\n", 400, nil},
		"more of it":  {strings.Repeat("A: b\r\n", 300) + "\r\n", 431, nil},
		"fine, empty": {"\r\n", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var h gallop.ResponseHeader
			err := h.ReadTrailer(bufio.NewReader(strings.NewReader(c.in)))
			checkParseError(t, err, c.status, c.is)
			for name := range h.AllTrailers() {
				if err != nil {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

// checkParseError wants a *ParseError with this status, or, if that is 0, the error
// is, or none.
func checkParseError(t *testing.T, err error, status int, is error) {
	t.Helper()
	var parse *gallop.ParseError
	switch {
	case status > 0:
		if !errors.As(err, &parse) || parse.StatusCode != status {
			t.Errorf("%v, want %d", err, status)
		}
		if is != nil && !errors.Is(err, is) {
			t.Errorf("%v is not %v", err, is)
		}
	case !errors.Is(err, is) || (is == nil) != (err == nil):
		t.Errorf("%v, want %v", err, is)
	}
}
