package bench

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// load is a listener with connections in memory. Together the connections carry a fixed number of copies of one
// request, back to back, like a client that never waits for a response. A read fills the reader's buffer up to the
// remaining requests, and may cut the last one anywhere. A write is counted and dropped.
//
// Connections are reused after the server has closed them, so that all reported allocations are the server's. When
// all requests were read and all connections are back, Accept returns net.ErrClosed.
type load struct {
	request []byte
	perConn int // requests on each connection
	left    int // requests not given to a connection yet; used only by Accept
	idle    chan *loadConn

	written atomic.Int64
}

// newLoad returns a load of n requests, with perConn requests on each connection and at most clients open
// connections.
func newLoad(request []byte, n, clients, perConn int) *load {
	l := &load{
		request: request,
		perConn: perConn,
		left:    n,
		idle:    make(chan *loadConn, clients),
	}
	for range clients {
		l.idle <- &loadConn{load: l, closed: true}
	}
	return l
}

func (l *load) Accept() (net.Conn, error) {
	if l.left == 0 {
		for range cap(l.idle) {
			<-l.idle
		}
		return nil, net.ErrClosed
	}
	c := <-l.idle
	n := min(l.perConn, l.left)
	l.left -= n
	c.rest = n * len(l.request)
	c.at = 0
	c.closed = false
	return c, nil
}

func (l *load) Close() error   { return nil }
func (l *load) Addr() net.Addr { return loadAddr }

var loadAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 12345}

// loadConn is one of load's connections. One goroutine uses it at a time, except for deadlines, which do nothing.
type loadConn struct {
	load    *load
	rest    int // bytes not read yet
	at      int // position in the request, 0 ≤ at < len(request)
	written int64
	closed  bool
}

func (c *loadConn) Read(p []byte) (int, error) {
	if c.rest == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), c.rest)]
	for n := 0; n < len(p); {
		m := copy(p[n:], c.load.request[c.at:])
		n += m
		if c.at += m; c.at == len(c.load.request) {
			c.at = 0
		}
	}
	c.rest -= len(p)
	return len(p), nil
}

func (c *loadConn) Write(p []byte) (int, error) {
	c.written += int64(len(p))
	return len(p), nil
}

func (c *loadConn) Close() error {
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	c.load.written.Add(c.written)
	c.written = 0
	c.load.idle <- c
	return nil
}

func (c *loadConn) LocalAddr() net.Addr              { return loadAddr }
func (c *loadConn) RemoteAddr() net.Addr             { return loadAddr }
func (c *loadConn) SetDeadline(time.Time) error      { return nil }
func (c *loadConn) SetReadDeadline(time.Time) error  { return nil }
func (c *loadConn) SetWriteDeadline(time.Time) error { return nil }

// TestLoad shows that a load delivers each request once, regardless of the size of the reader's buffer.
func TestLoad(t *testing.T) {
	request := []byte("abcdefg")
	for _, size := range []int{1, 3, 7, 8, 64} {
		l := newLoad(request, 10, 2, 4)
		got := 0
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			p := make([]byte, size)
			for {
				n, err := c.Read(p)
				if err != nil {
					break
				}
				for _, b := range p[:n] {
					if b != request[got%len(request)] {
						t.Fatalf("buffer of %d: byte %d is %q", size, got, b)
					}
					got++
				}
			}
			c.Close()
		}
		if got != 10*len(request) {
			t.Errorf("buffer of %d: read %d bytes, want %d", size, got, 10*len(request))
		}
	}
}
