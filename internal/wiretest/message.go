package wiretest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Framing is the rule that determined the end of a body (RFC 9112 §6.3).
type Framing int

const (
	NoBody    Framing = iota // HEAD, 1xx, 204, 304
	ByLength                 // Content-Length
	ByChunks                 // Transfer-Encoding: chunked
	ByClose                  // everything until the connection ends
	ForTunnel                // everything after a 101, or after a 2xx to CONNECT
)

// Field is one field line. Its value has no blanks at either end.
type Field struct{ Name, Value string }

// message holds what requests and responses have in common.
type message struct {
	Minor    int // minor version of HTTP/1.x
	Fields   []Field
	Body     []byte
	Trailers []Field
	Framing  Framing
}

// Values returns the values of all fields of this name, in order.
func (m *message) Values(name string) []string { return values(m.Fields, name) }

// Get returns the value of the first field of this name, or "".
func (m *message) Get(name string) string {
	if v := m.Values(name); len(v) > 0 {
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

// parseFields parses field lines that all end in CRLF (RFC 9112 §5).
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

// readLength reads a body with a Content-Length. It returns -1 if the body is incomplete.
func (m *message) readLength(b []byte) (int, error) {
	m.Framing = ByLength
	v := m.Get("Content-Length")
	n, err := strconv.ParseUint(v, 10, 62)
	if err != nil {
		return -1, fmt.Errorf("bad Content-Length: %q", v)
	}
	if uint64(len(b)) < n {
		return -1, nil
	}
	m.Body = bytes.Clone(b[:n])
	return int(n), nil
}

// readChunks reads a chunked body and its trailers (RFC 9112 §7.1).
func (m *message) readChunks(b []byte) (int, error) {
	m.Framing = ByChunks
	for p := 0; ; {
		line, _, ok := bytes.Cut(b[p:], []byte("\r\n"))
		if !ok {
			return -1, nil
		}
		digits, extension, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseUint(string(digits), 16, 31)
		if err != nil || bytes.ContainsAny(digits, "+_") || !isText(string(extension)) {
			return -1, fmt.Errorf("bad chunk: %.40q", line)
		}
		p += len(line) + 2
		if size == 0 {
			n, err := m.readTrailers(b[p:])
			if n < 0 {
				return -1, err
			}
			return p + n, nil
		}
		if len(b) < p+int(size)+2 {
			return -1, nil
		}
		if !bytes.Equal(b[p+int(size):][:2], []byte("\r\n")) {
			return -1, fmt.Errorf("chunk of %d bytes is longer than its size: %.40q", size, b[p+int(size):])
		}
		m.Body = append(m.Body, b[p:p+int(size)]...)
		p += int(size) + 2
	}
}

// readTrailers returns the length of the trailer section in b, or -1 if it is incomplete.
func (m *message) readTrailers(b []byte) (n int, err error) {
	if bytes.HasPrefix(b, []byte("\r\n")) {
		return 2, nil
	}
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return -1, nil
	}
	if m.Trailers, err = parseFields(string(b[:end+2])); err != nil {
		return -1, err
	}
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Host", "Trailer", "Connection"} {
		if len(values(m.Trailers, name)) > 0 {
			return -1, fmt.Errorf("%s in trailers", name)
		}
	}
	return end + 4, nil
}

// isToken and isText implement RFC 9110 §5.6.2 and §5.5 again on purpose. If the checker used the tables of the code
// that it checks, both would make the same mistakes.
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
