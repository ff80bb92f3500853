package messages_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

func TestResponseRead(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		head     bool // it answers HEAD
		status   int
		body     string
		rest     string
	}{
		{"fixed", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcnext", false, 200, "abc", "next"},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: 1\r\n\r\nnext", false, 200, "abc", "next"},
		{"until close", "HTTP/1.1 200 OK\r\n\r\nabcnext", false, 200, "abcnext", ""},
		{"HEAD with a length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnext", true, 200, "", "next"},
		{"HEAD, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnext", true, 200, "", "next"},
		{"HEAD without framing", "HTTP/1.1 200 OK\r\n\r\nnext", true, 200, "", "next"},
		{"HEAD, chunked and a length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nnext", true, 200, "", "next"},
		{"HEAD, chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnext", true, 200, "", "next"},
		{"204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nnext", false, 204, "", "next"},
		{"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\nnext", false, 304, "", "next"},
		{"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcnext", false, 200, "abc", "next"},
		{"101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nnext", false, 101, "", "next"},
	} {
		for _, stream := range []bool{false, true} {
			r := bufio.NewReader(strings.NewReader(tt.in))
			resp := gallop.Response{StreamBody: stream, SkipBody: tt.head}
			if err := resp.Read(r); err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			if resp.IsBodyStream() != (stream && tt.body != "") {
				t.Errorf("%s: is a stream: %v", tt.name, resp.IsBodyStream())
			}
			if string(resp.Body()) != tt.body || resp.StatusCode() != tt.status {
				t.Errorf("%s: %d %q", tt.name, resp.StatusCode(), resp.Body())
			}
			if n := resp.Header.ContentLength(); tt.name == "until close" && !stream && n != len(tt.body) {
				t.Errorf("ContentLength is %d", n)
			}
			if rest, _ := io.ReadAll(r); string(rest) != tt.rest {
				t.Errorf("%s: %q is left", tt.name, rest)
			}
		}
	}
}

func TestResponseReadErrors(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		limit    int
		want     error
	}{
		{"nothing", "", 0, io.EOF},
		{"cut off", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", 0, io.ErrUnexpectedEOF},
		{"over the limit", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", 4, gallop.ErrBodyTooLarge},
		{"until close, over the limit", "HTTP/1.1 200 OK\r\n\r\nabcde", 4, gallop.ErrBodyTooLarge},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nabcde", 0, gallop.ErrDuplicateContentLength},
		{"interim for ever", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100), 0, errors.New("gallop: too many interim responses")},
	} {
		var resp gallop.Response
		if err := resp.ReadLimitBody(bufio.NewReader(strings.NewReader(tt.in)), tt.limit); !isError(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// The error of a streamed body comes from the stream.
func TestStreamBodyErrors(t *testing.T) {
	resp := gallop.Response{StreamBody: true}
	if err := resp.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"))); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(resp.BodyStream()); string(got) != "abc" || err != io.ErrUnexpectedEOF {
		t.Errorf("%q, %v", got, err)
	}
	if err := resp.CloseBodyStream(); err != io.ErrUnexpectedEOF {
		t.Errorf("close: %v", err)
	}
}

// The table says what a response reports about the connection and about its length, after it has been read as the
// response to GET or to HEAD.
func TestResponseReadTellsOfTheConnection(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		head     bool
		close    bool
		length   int
	}{
		{"without framing", "HTTP/1.1 200 OK\r\n\r\nabc", false, true, 3},
		{"without framing and body", "HTTP/1.1 200 OK\r\n\r\n", false, true, 0},
		{"HEAD without framing", "HTTP/1.1 200 OK\r\n\r\n", true, false, -2},
		{"HEAD without framing, close", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", true, true, -2},
		{"HEAD without framing, HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\n", true, true, -2},
		{"HEAD without framing, HTTP/1.0, keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", true, false, -2},
		{"HEAD with a length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true, false, 3},
		{"fixed", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", false, false, 3},
	} {
		resp := gallop.Response{SkipBody: tt.head}
		if err := resp.Read(bufio.NewReader(strings.NewReader(tt.in))); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if resp.ConnectionClose() != tt.close || strings.Contains(resp.String(), "close") != tt.close || resp.Header.ContentLength() != tt.length {
			t.Errorf("%s: close %v, length %d, written as %q", tt.name, resp.ConnectionClose(), resp.Header.ContentLength(), resp.String())
		}
	}
}
