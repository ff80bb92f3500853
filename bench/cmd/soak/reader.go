package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// reader reads responses from a connection and compares each with its request. 0 ≤ r ≤ w ≤ len(buf); buf[r:w] was
// read but not consumed yet.
type reader struct {
	conn net.Conn
	buf  []byte
	r, w int
}

func (in *reader) reset(conn net.Conn) {
	if in.buf == nil {
		in.buf = make([]byte, 64<<10)
	}
	in.conn, in.r, in.w = conn, 0, 0
}

func (in *reader) rest() []byte { return in.buf[in.r:in.w] }

// Read returns the remaining bytes of the connection without parsing them.
func (in *reader) Read(p []byte) (int, error) {
	if in.r == in.w {
		if err := in.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, in.rest())
	in.r += n
	return n, nil
}

// fill reads at least one more byte.
func (in *reader) fill() error {
	if in.r == in.w {
		in.r, in.w = 0, 0
	}
	if in.w == len(in.buf) {
		if in.r == 0 {
			return errors.New("head or line too long")
		}
		in.w = copy(in.buf, in.rest())
		in.r = 0
	}
	n, err := in.conn.Read(in.buf[in.w:])
	in.w += n
	if n > 0 {
		return nil
	}
	return err
}

// until consumes and returns the bytes up to and including end.
func (in *reader) until(end string) ([]byte, error) {
	from := 0
	for {
		if i := bytes.Index(in.rest()[from:], []byte(end)); i >= 0 {
			b := in.rest()[:from+i+len(end)]
			in.r += len(b)
			return b, nil
		}
		from = max(0, in.w-in.r-len(end)+1)
		if err := in.fill(); err != nil {
			return nil, fmt.Errorf("after %d bytes of a head or line: %w", in.w-in.r, err)
		}
	}
}

// answer reads the response to r, including interim responses before it.
func (in *reader) answer(r request) error {
	for {
		head, err := in.until("\r\n\r\n")
		if err != nil {
			return err
		}
		a, err := parseAnswer(head)
		if err != nil {
			return err
		}
		if a.status == 100 {
			continue
		}
		if err := a.check(r); err != nil {
			return fmt.Errorf("%w in %.400q", err, head)
		}
		return in.body(r, a)
	}
}

func (in *reader) body(r request, a answer) error {
	want := payload(r.id, r.size)
	switch {
	case r.kind == kindHead || r.kind == kindNone || r.kind == kindSame:
		return nil
	case a.chunked:
		return in.chunks(want)
	default:
		return in.match(want)
	}
}

// match consumes len(want) bytes and returns an error if they differ from want.
func (in *reader) match(want []byte) error {
	for len(want) > 0 {
		if in.r == in.w {
			if err := in.fill(); err != nil {
				return fmt.Errorf("body ends %d bytes early: %w", len(want), err)
			}
		}
		n := min(len(want), in.w-in.r)
		if !bytes.Equal(in.buf[in.r:in.r+n], want[:n]) {
			return fmt.Errorf("another body, %d bytes before its end: %.40q", len(want), in.buf[in.r:in.r+n])
		}
		in.r += n
		want = want[n:]
	}
	return nil
}

func (in *reader) chunks(want []byte) error {
	for {
		line, err := in.until("\r\n")
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(line[:len(line)-2]), 16, 31)
		if err != nil {
			return fmt.Errorf("chunk size %q", line)
		}
		if n > uint64(len(want)) {
			return fmt.Errorf("chunk of %d where %d bytes are left", n, len(want))
		}
		if n == 0 && len(want) > 0 {
			return fmt.Errorf("body ends %d bytes early", len(want))
		}
		if err := in.match(want[:n]); err != nil {
			return err
		}
		want = want[n:]
		if err := in.match([]byte("\r\n")); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

// answer holds the parts of a response head that matter here.
type answer struct {
	status  int
	length  int64 // -1 without Content-Length
	chunked bool
	id, sum uint64
}

func parseAnswer(head []byte) (answer, error) {
	a := answer{length: -1, id: ^uint64(0)}
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return a, fmt.Errorf("status line %.60q", line)
	}
	var err error
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return a, fmt.Errorf("status line %.60q", line)
	}
	for len(rest) > 2 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		i := bytes.IndexByte(line, ':')
		if i < 0 {
			return a, fmt.Errorf("field line %.60q", line)
		}
		if err := a.field(string(line[:i]), string(bytes.TrimSpace(line[i+1:]))); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a *answer) field(name, value string) (err error) {
	switch {
	case strings.EqualFold(name, "Content-Length"):
		if a.length >= 0 {
			return errors.New("two Content-Length fields")
		}
		a.length, err = strconv.ParseInt(value, 10, 63)
	case strings.EqualFold(name, "Transfer-Encoding"):
		if value != "chunked" || a.chunked {
			return fmt.Errorf("Transfer-Encoding %q", value)
		}
		a.chunked = true
	case strings.EqualFold(name, "X-Soak-Id"):
		a.id, err = strconv.ParseUint(value, 16, 64)
	case strings.EqualFold(name, "X-Soak-Sum"):
		a.sum, err = strconv.ParseUint(value, 16, 32)
	}
	return err
}

// check compares the head with the request.
func (a *answer) check(r request) error {
	want := 200
	switch r.kind {
	case kindNone:
		want = 204
	case kindSame:
		want = 304
	}
	switch {
	case a.status != want:
		return fmt.Errorf("status %d, want %d", a.status, want)
	case a.id != r.id:
		return fmt.Errorf("response to %x, want %x", a.id, r.id)
	case uint32(a.sum) != checksum(payload(r.id, r.size)):
		return fmt.Errorf("X-Soak-Sum %x", a.sum)
	case a.chunked && a.length >= 0:
		return errors.New("both Content-Length and Transfer-Encoding")
	case want == 204 && (a.chunked || a.length >= 0):
		return errors.New("204 with framing")
	case r.kind == kindHead && a.length < 0:
		return nil // RFC 9110 §8.6: the response to HEAD may omit it
	case want == 200 && !a.chunked && a.length != int64(r.size):
		return fmt.Errorf("Content-Length %d, want %d", a.length, r.size)
	}
	return nil
}

// gone reports whether err means that the peer closed the connection.
func gone(err error) bool {
	return err == io.EOF || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
