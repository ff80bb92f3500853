package wiretest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Response is one response that a server sent, interim or final.
type Response struct {
	message
	Status int
	Reason string
}

// Interim reports whether another response to the same request follows.
func (r *Response) Interim() bool { return r.Status < 200 && r.Status != 101 }

var errTruncated = errors.New("truncated response")

// Parse parses the response at the start of b, which is for a request with this method. eof means that nothing
// follows b. Parse returns the length of the response, or 0 and no error if more bytes are needed. Everything that
// RFC 9110 and 9112 forbid a server to send is an error, even if recipients have to accept it.
func Parse(b []byte, method string, eof bool) (*Response, int, error) {
	if want := "HTTP/1."; !bytes.HasPrefix(b, []byte(want)[:min(len(b), len(want))]) {
		return nil, 0, fmt.Errorf("not a status line: %.48q", b)
	}
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if eof && len(b) > 0 || len(b) > 1<<20 {
			return nil, 0, fmt.Errorf("%w: %.48q", errTruncated, b)
		}
		return nil, 0, nil
	}
	line, rest, _ := strings.Cut(string(b[:end+2]), "\r\n")
	r := &Response{}
	if err := r.parseStatusLine(line); err != nil {
		return nil, 0, err
	}
	var err error
	if r.Fields, err = parseFields(rest); err != nil {
		return nil, 0, err
	}
	if err := r.lint(); err != nil {
		return nil, 0, err
	}
	n, err := r.readBody(b[end+4:], method, eof)
	if n < 0 {
		if err == nil && eof {
			err = fmt.Errorf("%w: %.48q", errTruncated, b)
		}
		return nil, 0, err
	}
	return r, end + 4 + n, nil
}

// parseStatusLine parses HTTP-version SP 3DIGIT SP [reason] (RFC 9112 §4).
func (r *Response) parseStatusLine(line string) error {
	bad := func() error { return fmt.Errorf("bad status line: %.60q", line) }
	if len(line) < len("HTTP/1.1 200 ") || line[7] != '0' && line[7] != '1' || line[8] != ' ' || line[12] != ' ' {
		return bad()
	}
	r.Minor = int(line[7] - '0')
	for _, c := range []byte(line[9:12]) {
		if c < '0' || c > '9' {
			return bad()
		}
		r.Status = r.Status*10 + int(c-'0')
	}
	r.Reason = line[13:]
	if r.Status < 100 || !isText(r.Reason) {
		return bad()
	}
	return nil
}

// singletons are fields that carry no list, so a response must not have two of them.
var singletons = []string{"Content-Length", "Transfer-Encoding", "Date", "Content-Type", "Server", "Location", "ETag", "Last-Modified"}

// lint refuses what a server must not send (RFC 9110 §6.6.1, §8.6; RFC 9112 §6.1).
func (r *Response) lint() error {
	for _, name := range singletons {
		if len(r.Values(name)) > 1 {
			return fmt.Errorf("two %s fields in one response", name)
		}
	}
	for _, v := range r.Values("Date") {
		if _, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", v); err != nil {
			return fmt.Errorf("bad Date in response: %q", v)
		}
	}
	te, cl := r.Values("Transfer-Encoding"), r.Values("Content-Length")
	switch {
	case len(te) > 0 && len(cl) > 0:
		return errors.New("response with Content-Length and Transfer-Encoding")
	case len(te) > 0 && r.Minor == 0:
		return errors.New("Transfer-Encoding in an HTTP/1.0 response")
	case len(te) > 0 && te[0] != "chunked":
		return fmt.Errorf("response Transfer-Encoding: %q", te[0])
	case len(te)+len(cl) > 0 && (r.Status < 200 || r.Status == 204):
		return fmt.Errorf("%d response with framing fields", r.Status)
	}
	return nil
}

// readBody returns the length of the body in b, or -1 if the body is incomplete.
func (r *Response) readBody(b []byte, method string, eof bool) (int, error) {
	switch {
	case r.Status == 101 || method == "CONNECT" && r.Status >= 200 && r.Status < 300:
		r.Framing, r.Body = ForTunnel, bytes.Clone(b)
		return len(b), nil
	case method == "HEAD" || r.Status < 200 || r.Status == 204 || r.Status == 304:
		return 0, nil
	case len(r.Values("Transfer-Encoding")) > 0:
		return r.readChunks(b)
	case len(r.Values("Content-Length")) > 0:
		return r.readLength(b)
	case !eof:
		return -1, nil
	}
	r.Framing, r.Body = ByClose, bytes.Clone(b)
	return len(b), nil
}
