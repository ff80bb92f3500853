package wiretest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
)

// Incoming is one request that a client sent.
type Incoming struct {
	message
	Method string
	Target string
}

// Requests reads what a client under test writes on one connection. It is as strict as [Parse] is with servers: every
// error that does not come from the connection itself is the client's fault.
type Requests struct {
	conn net.Conn
	buf  []byte // read from the connection but not consumed yet
}

// NewRequests returns a reader of the requests that arrive on c.
func NewRequests(c net.Conn) *Requests { return &Requests{conn: c} }

// errMalformed is wrapped by every error that is the client's fault.
var errMalformed = errors.New("malformed request")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errMalformed, fmt.Errorf(format, args...))
}

// Next reads a request including its body.
func (r *Requests) Next() (*Incoming, error) {
	q, err := r.Head()
	if err == nil {
		err = r.Body(q)
	}
	return q, err
}

// Head reads a request without its body. Call [Requests.Body] next. The error is io.EOF if the client closed the
// connection instead.
func (r *Requests) Head() (*Incoming, error) {
	for {
		if end := bytes.Index(r.buf, []byte("\r\n\r\n")); end >= 0 {
			q, err := parseHead(string(r.buf[:end+2]))
			r.buf = r.buf[end+4:]
			return q, err
		}
		if err := r.fill(); err != nil {
			if err == io.EOF && len(r.buf) > 0 {
				err = malformed("breaks off: %.60q", r.buf)
			}
			return nil, err
		}
	}
}

// Body reads the body of q.
func (r *Requests) Body(q *Incoming) error {
	for {
		n, err := q.readBody(r.buf)
		switch {
		case err != nil:
			return malformed("%w", err)
		case n >= 0:
			r.buf = r.buf[n:]
			return nil
		}
		if err := r.fill(); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		q.Body, q.Trailers = nil, nil
	}
}

// Unread returns the bytes that were read from the connection and belong to no request yet.
func (r *Requests) Unread() []byte { return r.buf }

func (r *Requests) fill() error {
	r.buf = slices.Grow(r.buf, 4<<10)
	n, err := r.conn.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// parseHead parses a request line and field lines (RFC 9112 §3 and §5). It refuses what a client must not send (RFC
// 9112 §3.2, §6.1; RFC 9110 §8.6).
func parseHead(s string) (*Incoming, error) {
	line, rest, _ := strings.Cut(s, "\r\n")
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !isToken(parts[0]) || !isTarget(parts[1]) || parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0" {
		return nil, malformed("request line %.80q", line)
	}
	q := &Incoming{Method: parts[0], Target: parts[1]}
	q.Minor = int(line[len(line)-1] - '0')
	var err error
	if q.Fields, err = parseFields(rest); err != nil {
		return nil, malformed("%w", err)
	}
	hosts, lengths, codings := q.Values("Host"), q.Values("Content-Length"), q.Values("Transfer-Encoding")
	switch {
	case len(hosts) != 1 || !isTarget(hosts[0]) || strings.ContainsAny(hosts[0], "/@?"):
		return nil, malformed("Host: %q", hosts)
	case len(lengths)+len(codings) > 1:
		return nil, malformed("framed by Content-Length %q and Transfer-Encoding %q", lengths, codings)
	case len(codings) == 1 && (codings[0] != "chunked" || q.Minor == 0):
		return nil, malformed("Transfer-Encoding: %q", codings)
	}
	return q, nil
}

// isTarget reports whether s consists of visible ASCII, without the characters that are invalid in URIs.
func isTarget(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}#", c) >= 0 {
			return false
		}
	}
	return s != ""
}

// readBody returns the length of the body in b, or -1 if the body is incomplete.
func (q *Incoming) readBody(b []byte) (int, error) {
	switch {
	case len(q.Values("Transfer-Encoding")) > 0:
		return q.readChunks(b)
	case len(q.Values("Content-Length")) > 0:
		return q.readLength(b)
	}
	return 0, nil
}
