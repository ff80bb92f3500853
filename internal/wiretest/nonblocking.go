package wiretest

import (
	"io"
	"net"
	"syscall"
)

// Pollable is a connection that a [Kernel] can have: one that can be read from and written
// to without waiting, and that tells when this may have become worth while.
type Pollable interface {
	net.Conn

	// TryRead and TryWrite move what they can, and return syscall.EAGAIN if that is nothing.
	// At the end TryRead returns neither octets nor an error.
	TryRead(p []byte) (int, error)
	TryWrite(p []byte) (int, error)

	// Ready says what can be done now.
	Ready() Readiness

	// Watch has f called when octets arrive, when there is room again after a write found
	// too little, and when either direction ends. f must not use the connection. Nobody may
	// wait in Read or Write as long as there is one; nil ends it.
	Watch(f func())

	CloseWrite() error

	// CloseRead makes reading end behind what there is.
	CloseRead()
}

// Readiness is what can be done with a connection.
type Readiness struct {
	Read, Write bool
	Ended       bool // the peer sends no more
	Broken      bool // nor does it take any, or the connection was reset
}

// TryRead reads what there is.
func (c *Conn) TryRead(p []byte) (n int, err error) {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	switch n, err = c.in.readNow(p); err {
	case errWouldBlock:
		err = syscall.EAGAIN
	case io.EOF:
		err = nil
	}
	return n, err
}

// TryWrite writes what the window takes.
func (c *Conn) TryWrite(p []byte) (int, error) {
	n, err := c.out.tryWrite(p)
	if err == syscall.EPIPE {
		c.in.abort()
	}
	return n, err
}

func (s *stream) tryWrite(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, err = s.writeNow(p); err == errWouldBlock {
		if err = nil; n == 0 {
			err = syscall.EAGAIN
		}
	}
	return n, err
}

// Ready says what can be done now.
func (c *Conn) Ready() (r Readiness) {
	c.in.mu.Lock()
	r.Ended = c.in.ended || c.in.aborted || c.in.deaf
	r.Read = r.Ended || len(c.in.buf) > 0
	r.Broken = c.in.aborted
	c.in.mu.Unlock()
	c.out.mu.Lock()
	r.Write = c.out.left || c.out.ended || c.out.limit == 0 || len(c.out.buf) < c.out.limit
	r.Broken = r.Broken || r.Ended && c.out.ended
	c.out.mu.Unlock()
	return r
}

// Watch has f called when something happens.
func (c *Conn) Watch(f func()) {
	c.in.mu.Lock()
	c.in.onArrival = f
	c.in.changed()
	c.in.mu.Unlock()
	c.out.mu.Lock()
	c.out.onRoom = f
	c.out.mu.Unlock()
}

// CloseRead makes reading end behind what there is.
func (c *Conn) CloseRead() { c.in.update(func() { c.in.deaf = true }) }

func (s *stream) tell(f func()) {
	if f != nil {
		f()
	}
}
