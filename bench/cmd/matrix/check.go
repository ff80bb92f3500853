//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// counted counts the bytes that are read from a connection.
type counted struct {
	net.Conn
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n += n
	return n, err
}

// pumaCloses is the field that puma adds to some responses under load. It closes connections after ten requests when others wait.
const pumaCloses = "Connection: close\r\n"

// check requests the body of a cell three times on one connection, because a server may cache it. It compares each response with
// what is expected, and remembers how many bytes it took on the wire.
func (s *server) check(c cell) error {
	conn, err := net.Dial("tcp4", s.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second)) // puma's workers start behind the listener
	count := &counted{Conn: conn}
	r := bufio.NewReader(count)
	want := content(c.kB)
	before := 0
	for range 3 {
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", c.path(), s.address); err != nil {
			return err
		}
		if err := s.compare(r, c, want); err != nil {
			return err
		}
		length := count.n - r.Buffered() - before
		before += length
		if s.least == 0 || length < s.least {
			s.least = length
		}
		s.most = max(s.most, length)
	}
	if s.name == puma {
		s.most += len(pumaCloses)
	}
	return nil
}

// compare reads one response and compares it with what is expected.
func (s *server) compare(r *bufio.Reader, c cell, want []byte) error {
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("after %d bytes: %w", len(body), err)
	}
	length := int64(len(want))
	if c.kind == "chunked" && !(s.name == "nethttp" && c.kB == 1) { // net/http knows the length of a body that fits into its buffer
		length = -1
	}
	switch {
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s", response.Status)
	case response.Close:
		return fmt.Errorf("the connection is closed")
	case response.ContentLength != length:
		return fmt.Errorf("the length is said to be %d, not %d", response.ContentLength, length)
	case !bytes.Equal(body, want):
		return fmt.Errorf("%d bytes came, which are not the %d expected", len(body), len(want))
	}
	return nil
}
