package wiretest

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Conn is one end of a connection in memory. For servers it behaves like a TCP connection: writes are buffered and
// CloseWrite half-closes. If an end closes with unread input, or receives bytes after Close, its peer is reset after
// reading the bytes in flight. A Conn is safe for concurrent use, and its deadlines follow the virtual clock of a
// synctest bubble.
type Conn struct {
	in, out *stream
	local   addr
}

// Pipe returns the two ends of a new connection. Buffers are unlimited unless [Conn.SetWindow] is called.
func Pipe() (client, server *Conn) {
	up, down := newStream(), newStream()
	return &Conn{in: down, out: up, local: "client"}, &Conn{in: up, out: down, local: "server"}
}

// Dialer returns a dial function. Each connection is served by serve on its own goroutine.
func Dialer(serve func(net.Conn) error) func() (net.Conn, error) {
	return func() (net.Conn, error) {
		client, server := Pipe()
		go func() { _ = serve(server) }()
		return client, nil
	}
}

// Read returns what the peer wrote, io.EOF after the peer closed, and ECONNRESET after the peer reset the connection.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

// Write buffers p for the peer. It blocks while the window is full.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	if err == syscall.EPIPE {
		c.in.abort() // the peer closed, so writing to it resets the connection
	}
	return n, c.wrap("write", err)
}

// CloseWrite ends the stream towards the peer. Reading still works.
func (c *Conn) CloseWrite() error {
	c.out.end()
	return nil
}

// Close closes both directions. If there is unread input, the peer is reset.
func (c *Conn) Close() error {
	unread := c.in.leave()
	if unread {
		c.out.abort()
	}
	c.out.end()
	c.out.shut()
	return nil
}

// Reset breaks the connection at once. The peer also loses the bytes in flight.
func (c *Conn) Reset() {
	c.out.discard()
	c.out.abort()
	_ = c.Close()
}

// SetWindow limits the number of unread bytes on this end; beyond it the peer's writes block. 0 means unlimited.
func (c *Conn) SetWindow(n int) { c.in.setLimit(n) }

// AwaitPeer waits until the peer has read everything and blocks in Read, or has closed. It reports false if the
// timeout passes first.
func (c *Conn) AwaitPeer(timeout time.Duration) bool { return c.out.awaitReader(timeout) }

// Unread returns the number of bytes that can be read on this end.
func (c *Conn) Unread() int {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return len(c.in.buf)
}

// Stale reports, without waiting, whether a Read would return at once: with bytes, at the end of the stream or after
// a reset.
func (c *Conn) Stale() bool {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return len(c.in.buf) > 0 || c.in.ended || c.in.aborted || c.in.left
}

func (c *Conn) LocalAddr() net.Addr { return c.local }

func (c *Conn) RemoteAddr() net.Addr {
	if c.local == "client" {
		return addr("server")
	}
	return addr("client")
}

func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.reading, t)
	return nil
}

func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writing, t)
	return nil
}

func (c *Conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "mem", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

type addr string

func (addr) Network() string  { return "mem" }
func (a addr) String() string { return string(a) }

// stream is one direction of a connection.
type stream struct {
	mu     sync.Mutex
	change sync.Cond // readers and writers wait for it
	idle   sync.Cond // awaitReader waits for it

	buf     []byte
	limit   int  // maximum length of buf; 0 means unlimited
	readers int  // goroutines that block in read
	ended   bool // the writer closed
	aborted bool // the writer reset
	left    bool // the reader closed
	deaf    bool // the reader ignores everything after the bytes that are there
	closed  bool // the writer may not write any more

	reading, writing deadline

	// Set for ends that do not wait in a call; see Conn.Watch.
	onArrival func()
	onRoom    func()
	full      bool // a write did not fit
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func newStream() *stream {
	s := &stream{}
	s.change.L, s.idle.L = &s.mu, &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		n, err := s.readNow(p)
		if err != errWouldBlock {
			return n, err
		}
		s.readers++
		s.idle.Broadcast()
		s.change.Wait()
		s.readers--
	}
}

// errWouldBlock means that a call has to wait.
var errWouldBlock = errors.New("wiretest: the call would block")

func (s *stream) readNow(p []byte) (int, error) {
	switch {
	case s.left:
		return 0, net.ErrClosed
	case s.reading.passed():
		return 0, os.ErrDeadlineExceeded
	case len(p) == 0:
		return 0, nil
	case len(s.buf) > 0:
		n := copy(p, s.buf)
		s.buf = s.buf[n:]
		s.changed()
		if s.full {
			s.full = false
			s.tell(s.onRoom)
		}
		return n, nil
	case s.aborted:
		return 0, syscall.ECONNRESET
	case s.ended || s.deaf:
		return 0, io.EOF
	}
	return 0, errWouldBlock
}

func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		m, err := s.writeNow(p[n:])
		if n += m; err != errWouldBlock {
			return n, err
		}
		s.change.Wait()
	}
}

// writeNow writes the bytes that there is room for.
func (s *stream) writeNow(p []byte) (int, error) {
	switch {
	case s.closed || s.ended:
		return 0, net.ErrClosed
	case s.left:
		return 0, syscall.EPIPE
	case s.writing.passed():
		return 0, os.ErrDeadlineExceeded
	case len(p) == 0:
		return 0, nil
	}
	room := len(p)
	if s.limit > 0 {
		room = max(min(room, s.limit-len(s.buf)), 0)
	}
	s.buf = append(s.buf, p[:room]...)
	if room > 0 {
		s.changed()
		s.tell(s.onArrival)
	}
	if s.full = room < len(p); s.full {
		return room, errWouldBlock
	}
	return room, nil
}

// changed wakes all goroutines that wait for a change.
func (s *stream) changed() {
	s.change.Broadcast()
	s.idle.Broadcast()
}

// update changes the state under the lock and wakes all waiting goroutines.
func (s *stream) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.changed()
	s.tell(s.onArrival)
	s.tell(s.onRoom)
}

func (s *stream) end()           { s.update(func() { s.ended = true }) }
func (s *stream) abort()         { s.update(func() { s.aborted = true }) }
func (s *stream) discard()       { s.update(func() { s.buf = nil }) }
func (s *stream) setLimit(n int) { s.update(func() { s.limit = n }) }

// shut is the writer's part of Close. It also stops the write deadline, which has no effect any more.
func (s *stream) shut() {
	s.update(func() {
		s.closed = true
		s.writing.stop()
	})
}

// leave is the reader's part of Close. It reports whether there was unread input.
func (s *stream) leave() (unread bool) {
	s.update(func() {
		unread = len(s.buf) > 0 && !s.left
		s.left, s.buf = true, nil
		s.reading.stop()
	})
	return unread
}

func (s *stream) setDeadline(d *deadline, at time.Time) {
	s.update(func() {
		d.stop()
		d.at = at
		if at.IsZero() || s.left && d == &s.reading || s.closed && d == &s.writing {
			return
		}
		if d.timer == nil {
			d.timer = time.AfterFunc(time.Until(at), s.wake)
		} else {
			d.timer.Reset(time.Until(at))
		}
	})
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

func (s *stream) wake() { s.update(func() {}) }

func (s *stream) awaitReader(timeout time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var end time.Time // zero until there is something to wait for
	for {
		if s.left || len(s.buf) == 0 && (s.readers > 0 || s.onArrival != nil) {
			return true
		}
		if end.IsZero() {
			end = time.Now().Add(timeout)
			defer time.AfterFunc(timeout, s.wake).Stop()
		} else if !time.Now().Before(end) {
			return false
		}
		s.idle.Wait()
	}
}
