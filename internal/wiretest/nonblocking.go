package wiretest

import (
	"io"
	"net"
	"syscall"
)

// Pollable is a connection that a [Kernel] can serve. It can be read and written without waiting, and reports when
// that may have become possible.
type Pollable interface {
	net.Conn

	// TryRead and TryWrite move as many bytes as they can, and return syscall.EAGAIN if they cannot move any. At the
	// end of the stream TryRead returns 0 and no error.
	TryRead(p []byte) (int, error)
	// TryWrite is described with TryRead.
	TryWrite(p []byte) (int, error)

	// Ready returns what can be done now.
	Ready() Readiness

	// Watch makes f run when bytes arrive, when room appears after a write that did not fit, and when either
	// direction ends. f must not use the connection. No goroutine may wait in Read or Write while a function is set.
	// A nil f stops watching.
	Watch(f func())

	// CloseWrite ends the stream towards the peer.
	CloseWrite() error

	// CloseRead makes reads fail after the bytes that already arrived.
	CloseRead()
}

// Readiness says which operations on a connection would not wait.
type Readiness struct {
	Read, Write bool
	Ended       bool // the peer sends nothing more
	Broken      bool // the peer reads nothing more either, or the connection was reset
}

// TryRead reads the bytes that are there.
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

// TryWrite writes the bytes that fit into the window.
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

// Ready returns what can be done now.
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

// Watch makes f run when the state of the connection changes.
func (c *Conn) Watch(f func()) {
	c.in.mu.Lock()
	c.in.onArrival = f
	c.in.changed()
	c.in.mu.Unlock()
	c.out.mu.Lock()
	c.out.onRoom = f
	c.out.mu.Unlock()
}

// CloseRead makes reads fail after the bytes that already arrived.
func (c *Conn) CloseRead() { c.in.update(func() { c.in.deaf = true }) }

func (s *stream) tell(f func()) {
	if f != nil {
		f()
	}
}
