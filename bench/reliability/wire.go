//go:build linux

package reliability

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"
)

// errNoResponse means that the server closed the connection without a reset, before the first byte of a response.
var errNoResponse = errors.New("closed without a response")

// response holds the parts of a response that a client needs.
type response struct {
	status int
	closes bool
	body   []byte // valid until the next call of read
}

// client is one connection that speaks HTTP/1.1 and checks the responses.
type client struct {
	net.Conn
	in   *bufio.Reader
	body []byte
	used bool // it has carried a request
}

// dialer connects from one of a few loopback addresses, so that no pair of addresses runs out of ports. A narrow
// connection has the segment size and window of a distant client. With those of the loopback device, the server could
// write a megabyte into its socket.
func dialer(nth int, narrow bool) *net.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+nth%8))}}
	if narrow {
		d.Control = func(_, _ string, raw syscall.RawConn) error {
			return raw.Control(func(fd uintptr) {
				syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
				syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 1000)
			})
		}
	}
	return d
}

// dial opens a client's connection.
func dial(address string, nth int) (*client, error) {
	c, err := dialer(nth, false).Dial("tcp4", address)
	if err != nil {
		return nil, err
	}
	return &client{Conn: c, in: bufio.NewReaderSize(c, 4096)}, nil
}

// do sends a request and reads its response. A failed write is not an error yet, because the response may have
// arrived before the whole request was sent.
func (c *client) do(request []byte, limit time.Duration) (response, error) {
	c.SetDeadline(time.Now().Add(limit))
	c.used = true
	_, writeErr := c.Write(request)
	r, err := c.read()
	if err != nil && writeErr != nil {
		return r, fmt.Errorf("%w after %w", err, writeErr)
	}
	return r, err
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// read reads one final response.
func (c *client) read() (response, error) {
	for {
		r, length, err := c.readHead()
		if err != nil {
			return r, err
		}
		if r.status >= 200 {
			return r, c.readBody(&r, length)
		}
	}
}

// readHead reads the status line and the fields. length is -1 if the response has no Content-Length, and -2 if it is
// chunked.
func (c *client) readHead() (r response, length int, err error) {
	line, err := c.in.ReadSlice('\n')
	if len(line) == 0 && err == io.EOF {
		return r, 0, errNoResponse
	}
	if err != nil {
		return r, 0, fmt.Errorf("status line: %w", err)
	}
	if r.status, err = parseStatus(line); err != nil {
		return r, 0, err
	}
	length = -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return r, 0, fmt.Errorf("field: %w", err)
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return r, length, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return r, 0, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = -2
		case bytes.EqualFold(name, []byte("Connection")):
			r.closes = bytes.EqualFold(value, []byte("close"))
		}
	}
}

func parseStatus(line []byte) (int, error) {
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, fmt.Errorf("not a status line: %q", line)
	}
	return strconv.Atoi(string(line[9:12]))
}

func (c *client) readBody(r *response, length int) (err error) {
	switch {
	case r.status == 204 || r.status == 304:
	case length == -2:
		err = c.readChunks()
		r.body = c.body
	case length == -1:
		r.closes = true
		r.body, err = io.ReadAll(c.in)
	default:
		c.body = append(c.body[:0], make([]byte, length)...)
		_, err = io.ReadFull(c.in, c.body)
		r.body = c.body
	}
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

func (c *client) readChunks() error {
	c.body = c.body[:0]
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		start := len(c.body)
		c.body = append(c.body, make([]byte, n+2)...)
		if _, err := io.ReadFull(c.in, c.body[start:]); err != nil {
			return err
		}
		c.body = c.body[:start+int(n)]
		if n == 0 {
			return nil
		}
	}
}
