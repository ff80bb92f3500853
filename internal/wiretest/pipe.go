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

// Conn is one end of an in-memory connection. It behaves as a TCP connection does
// where servers can tell: writes are buffered, CloseWrite half-closes, and closing
// with unread input, or being written to after Close, resets the peer once it has
// read what was under way. It is safe for concurrent use, and its deadlines follow
// the virtual clock of a synctest bubble.
type Conn struct {
	in, out *stream
	local   addr
}

// Pipe returns the two ends of a new connection. Buffers are unlimited until
// [Conn.SetWindow] says otherwise.
func Pipe() (client, server *Conn) {
	up, down := newStream(), newStream()
	return &Conn{in: down, out: up, local: "client"}, &Conn{in: up, out: down, local: "server"}
}

// Dialer returns a dial function whose connections are served by serve, each on a
// goroutine of its own.
func Dialer(serve func(net.Conn) error) func() (net.Conn, error) {
	return func() (net.Conn, error) {
		client, server := Pipe()
		go func() { _ = serve(server) }()
		return client, nil
	}
}

// Read returns what the peer wrote: io.EOF after it closed, ECONNRESET after it reset.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

// Write buffers p for the peer, waiting where the window is full.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	if err == syscall.EPIPE {
		c.in.abort() // what the peer never reads, it answers with a reset
	}
	return n, c.wrap("write", err)
}

// CloseWrite ends the stream towards the peer; reading goes on.
func (c *Conn) CloseWrite() error {
	c.out.end()
	return nil
}

// Close ends both directions. Input that was not read resets the peer.
func (c *Conn) Close() error {
	unread := c.in.leave()
	if unread {
		c.out.abort()
	}
	c.out.end()
	c.out.shut()
	return nil
}

// Reset breaks the connection at once: the peer loses even what was under way.
func (c *Conn) Reset() {
	c.out.discard()
	c.out.abort()
	_ = c.Close()
}

// SetWindow bounds how many octets towards this end may wait unread before the
// peer's writes block; 0 takes the bound away.
func (c *Conn) SetWindow(n int) { c.in.setLimit(n) }

// AwaitPeer waits until the peer has consumed everything written to it and blocks
// in Read, or has closed. It reports whether that came to pass within the timeout.
func (c *Conn) AwaitPeer(timeout time.Duration) bool { return c.out.awaitReader(timeout) }

// Unread returns how many octets wait to be read on this end.
func (c *Conn) Unread() int {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return len(c.in.buf)
}

// Stale reports whether there is anything to read or to be told by a read: octets, the
// end, a reset. It does not wait.
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
	change sync.Cond // what readers and writers wait for
	idle   sync.Cond // what awaitReader waits for

	buf     []byte
	limit   int  // most octets in buf; 0 is unlimited
	readers int  // goroutines that block in read
	ended   bool // the writer closed
	aborted bool // the writer reset
	left    bool // the reader closed
	deaf    bool // the reader reads no more than what is there
	closed  bool // the writer may not write any more

	reading, writing deadline

	// For ends that wait in no call, see Conn.Watch.
	onArrival func()
	onRoom    func()
	full      bool // a write found no room
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

// errWouldBlock says that a call has to wait.
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

// writeNow writes what there is room for.
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

// changed wakes everybody who waits for a change.
func (s *stream) changed() {
	s.change.Broadcast()
	s.idle.Broadcast()
}

// update changes the state under the lock and wakes everybody who looks at it.
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

// shut is the writer's side of Close: its deadline is of no use any more.
func (s *stream) shut() {
	s.update(func() {
		s.closed = true
		s.writing.stop()
	})
}

// leave is the reader's side of Close; it reports whether there was unread input.
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
	end := time.Now().Add(timeout)
	timer := time.AfterFunc(timeout, s.wake)
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.left || len(s.buf) == 0 && (s.readers > 0 || s.onArrival != nil) {
			return true
		}
		if !time.Now().Before(end) {
			return false
		}
		s.idle.Wait()
	}
}
