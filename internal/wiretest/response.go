package wiretest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Framing says how the end of a body was found (RFC 9112 §6.3).
type Framing int

const (
	NoBody    Framing = iota // HEAD, 1xx, 204, 304
	ByLength                 // Content-Length
	ByChunks                 // Transfer-Encoding: chunked
	ByClose                  // everything until the connection ends
	ForTunnel                // everything behind a 101 or a 2xx to CONNECT
)

// Field is one field line, its value without the blanks around it.
type Field struct{ Name, Value string }

// Response is one message that a server wrote.
type Response struct {
	Minor    int // of HTTP/1.x
	Status   int
	Reason   string
	Fields   []Field
	Body     []byte
	Trailers []Field
	Framing  Framing
}

// Interim reports whether another response to the same request follows.
func (r *Response) Interim() bool { return r.Status < 200 && r.Status != 101 }

// Values returns the values of every field of that name, in order.
func (r *Response) Values(name string) []string { return values(r.Fields, name) }

// Get returns the value of the first field of that name.
func (r *Response) Get(name string) string {
	if v := r.Values(name); len(v) > 0 {
		return v[0]
	}
	return ""
}

func values(fields []Field, name string) (vs []string) {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			vs = append(vs, f.Value)
		}
	}
	return vs
}

var errTruncated = errors.New("truncated response")

// Parse reads the response to a request with that method at the start of b. eof
// says that nothing follows b. It returns how many octets the response took: 0
// without an error where more have to arrive. What RFC 9110 and 9112 forbid a
// server to send is an error, even where a recipient would have to put up with it.
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

// parseStatusLine reads HTTP-version SP 3DIGIT SP [reason]: RFC 9112 §4.
func (r *Response) parseStatusLine(line string) error {
	bad := fmt.Errorf("bad status line: %.60q", line)
	if len(line) < len("HTTP/1.1 200 ") || line[7] != '0' && line[7] != '1' || line[8] != ' ' || line[12] != ' ' {
		return bad
	}
	r.Minor = int(line[7] - '0')
	for _, c := range []byte(line[9:12]) {
		if c < '0' || c > '9' {
			return bad
		}
		r.Status = r.Status*10 + int(c-'0')
	}
	r.Reason = line[13:]
	if r.Status < 100 || !isText(r.Reason) {
		return bad
	}
	return nil
}

// parseFields reads field lines that all end in CRLF: RFC 9112 §5.
func parseFields(s string) (fields []Field, err error) {
	for s != "" {
		var line string
		line, s, _ = strings.Cut(s, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) || !isText(value) {
			return nil, fmt.Errorf("bad field line: %.60q", line)
		}
		fields = append(fields, Field{name, strings.Trim(value, " \t")})
	}
	return fields, nil
}

// singletons are fields that carry no list, so a server that sends two is wrong.
var singletons = []string{"Content-Length", "Transfer-Encoding", "Date", "Content-Type", "Server", "Location", "ETag", "Last-Modified"}

// lint holds what a server must not send (RFC 9110 §6.6.1, §8.6; RFC 9112 §6.1).
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

// readBody returns how many octets of b the body took, or -1 where it is not complete.
func (r *Response) readBody(b []byte, method string, eof bool) (int, error) {
	switch {
	case r.Status == 101 || method == "CONNECT" && r.Status >= 200 && r.Status < 300:
		r.Framing, r.Body = ForTunnel, bytes.Clone(b)
		return len(b), nil
	case method == "HEAD" || r.Status < 200 || r.Status == 204 || r.Status == 304:
		return 0, nil
	case len(r.Values("Transfer-Encoding")) > 0:
		r.Framing = ByChunks
		return r.readChunks(b)
	case len(r.Values("Content-Length")) > 0:
		r.Framing = ByLength
		n, err := strconv.ParseUint(r.Get("Content-Length"), 10, 62)
		if err != nil {
			return -1, fmt.Errorf("bad response Content-Length: %q", r.Get("Content-Length"))
		}
		if uint64(len(b)) < n {
			return -1, nil
		}
		r.Body = bytes.Clone(b[:n])
		return int(n), nil
	case !eof:
		return -1, nil
	}
	r.Framing, r.Body = ByClose, bytes.Clone(b)
	return len(b), nil
}

// readChunks reads the chunked coding and its trailers: RFC 9112 §7.1.
func (r *Response) readChunks(b []byte) (int, error) {
	for p := 0; ; {
		line, _, ok := bytes.Cut(b[p:], []byte("\r\n"))
		if !ok {
			return -1, nil
		}
		digits, extension, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseUint(string(digits), 16, 31)
		if err != nil || bytes.ContainsAny(digits, "+_") || !isText(string(extension)) {
			return -1, fmt.Errorf("bad chunk in response: %.40q", line)
		}
		p += len(line) + 2
		if size == 0 {
			n, err := r.readTrailers(b[p:])
			if n < 0 {
				return -1, err
			}
			return p + n, nil
		}
		if len(b) < p+int(size)+2 {
			return -1, nil
		}
		if !bytes.Equal(b[p+int(size):][:2], []byte("\r\n")) {
			return -1, fmt.Errorf("chunk of %d octets runs on: %.40q", size, b[p+int(size):])
		}
		r.Body = append(r.Body, b[p:p+int(size)]...)
		p += int(size) + 2
	}
}

// readTrailers returns how many octets of b the trailer section took, or -1.
func (r *Response) readTrailers(b []byte) (n int, err error) {
	if bytes.HasPrefix(b, []byte("\r\n")) {
		return 2, nil
	}
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return -1, nil
	}
	if r.Trailers, err = parseFields(string(b[:end+2])); err != nil {
		return -1, err
	}
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Host", "Trailer", "Connection"} {
		if len(values(r.Trailers, name)) > 0 {
			return -1, fmt.Errorf("%s in trailers", name)
		}
	}
	return end + 4, nil
}

// isToken and isText spell RFC 9110 §5.6.2 and §5.5 a second time: a checker that
// borrowed the tables of what it checks would agree with their mistakes.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		alnum := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

func isText(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
