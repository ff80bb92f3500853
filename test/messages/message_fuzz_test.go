package messages_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gallop-http/gallop"
)

const fuzzLimit = 1 << 16

// readAlike reads in whole and byte by byte, and fails if that makes a difference.
// It returns what is left behind the message.
func readAlike(t *testing.T, in []byte, first, second fmt.Stringer, read func(m fmt.Stringer, r *bufio.Reader) error) (rest []byte, err error) {
	r := bufio.NewReaderSize(bytes.NewReader(in), 1<<17)
	err = read(first, r)
	cut := bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(in)), 1<<17)
	if err2 := read(second, cut); (err == nil) != (err2 == nil) {
		t.Fatalf("whole: %v; byte by byte: %v", err, err2)
	}
	if err != nil {
		return nil, err
	}
	if a, b := first.String(), second.String(); a != b {
		t.Fatalf("whole %q, byte by byte %q", a, b)
	}
	rest, _ = io.ReadAll(r)
	if rest2, _ := io.ReadAll(cut); !bytes.Equal(rest, rest2) {
		t.Fatalf("whole leaves %q, byte by byte %q", rest, rest2)
	}
	return rest, nil
}

// A request is read alike however it arrives, again after it was written, and as
// net/http does if that accepts it.
func FuzzRequestRead(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", post + "Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n",
		post + "Transfer-Encoding: chunked\r\n\r\n3;x=\"y\"\r\nabc\r\n1\r\nd\r\n0\r\nX: 1\r\n\r\nnext",
		post + "Content-Type: multipart/form-data; boundary=X\r\nContent-Length: 59\r\n\r\n--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--X--\r\n",
		"GET http://u:p@a/ HTTP/1.0\r\nHost: b\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
		"POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var req, again gallop.Request
		read := func(m fmt.Stringer, r *bufio.Reader) error { return m.(*gallop.Request).ReadLimitBody(r, fuzzLimit) }
		rest, err := readAlike(t, in, &req, &again, read)
		if err != nil || req.MayContinue() {
			return
		}
		body := string(req.Body())
		if err := again.Read(bufio.NewReaderSize(strings.NewReader(req.String()), 1<<18)); len(req.Header.Host()) > 0 && err != nil {
			t.Fatalf("written as %q, which is refused: %v", req.String(), err)
		} else if err == nil && string(again.Body()) != body {
			t.Fatalf("written and read again: %q, and not %q", again.Body(), body)
		}
		if len(req.Header.MultipartFormBoundary()) > 0 {
			return // its body is the form, put together again
		}
		theirReader := bufio.NewReader(bytes.NewReader(in))
		theirs, err := http.ReadRequest(theirReader)
		if err != nil {
			return
		}
		theirBody, err := io.ReadAll(theirs.Body)
		if err != nil {
			return
		}
		theirRest, _ := io.ReadAll(theirReader)
		if theirs.Method != string(req.Header.Method()) || string(theirBody) != body || !bytes.Equal(theirRest, rest) {
			t.Fatalf("net/http reads %s %q and leaves %q; we %s %q and leave %q",
				theirs.Method, theirBody, theirRest, req.Header.Method(), body, rest)
		}
	})
}

// The same for responses.
func FuzzResponseRead(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcnext", "HTTP/1.1 200 OK\r\n\r\nabc", "HTTP/1.0 404 Not Found\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: 1\r\n\r\nnext",
		"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 101 Switching Protocols\r\n\r\nraw",
		"HTTP/1.1 205 Reset Content\r\nContent-Length: 3\r\n\r\nabc",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, in []byte, head bool) {
		resp, again := gallop.Response{SkipBody: head}, gallop.Response{SkipBody: head}
		read := func(m fmt.Stringer, r *bufio.Reader) error { return m.(*gallop.Response).ReadLimitBody(r, fuzzLimit) }
		rest, err := readAlike(t, in, &resp, &again, read)
		if err != nil {
			return
		}
		body := string(resp.Body())
		written := body
		if resp.StatusCode() == gallop.StatusResetContent {
			written = "" // it may be received, and is not sent: RFC 9110 §15.3.6
		}
		if err := again.Read(bufio.NewReaderSize(strings.NewReader(resp.String()), 1<<18)); err != nil {
			t.Fatalf("written as %q, which is refused: %v", resp.String(), err)
		} else if string(again.Body()) != written || again.StatusCode() != resp.StatusCode() {
			t.Fatalf("written and read again: %d %q, and not %d %q", again.StatusCode(), again.Body(), resp.StatusCode(), written)
		}
		req := &http.Request{Method: "GET"}
		if head {
			req.Method = "HEAD"
		}
		theirReader := bufio.NewReader(bytes.NewReader(in))
		theirs, err := http.ReadResponse(theirReader, req)
		for err == nil && theirs.StatusCode < 200 && theirs.StatusCode != 101 {
			theirs, err = http.ReadResponse(theirReader, req)
		}
		if err != nil {
			return
		}
		theirBody, err := io.ReadAll(theirs.Body)
		if err != nil {
			return
		}
		theirRest, _ := io.ReadAll(theirReader)
		if theirs.StatusCode != resp.StatusCode() || string(theirBody) != body || !bytes.Equal(theirRest, rest) {
			t.Fatalf("net/http reads %d %q and leaves %q; we %d %q and leave %q",
				theirs.StatusCode, theirBody, theirRest, resp.StatusCode(), body, rest)
		}
	})
}
