package poll

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"

	"github.com/gallop-http/gallop/internal/clock"
)

// Conn is a connection of a loop. While nothing serves the connection, it consists of this struct and a socket. The
// worker that serves it, on the loop or off it, can read and write without waiting, with TryRead and TryWrite. It can
// also use the methods of net.Conn. If one of those has to wait, the worker first hands the loop to another worker.
//
// Exactly one goroutine serves a connection at a time. It got the connection from the loop, and returns it with Park
// or Finish. Only that goroutine may call TryRead, TryWrite and TryWriteBoth. Other goroutines may use Push and the
// methods of net.Conn, also later: after the connection was closed they fail, even if the descriptor belongs to another
// connection. Of these, only Push works while the connection is parked, because it never waits.
type Conn struct {
	// Data belongs to the owner.
	Data any

	// Away makes a worker off the loops serve the connection when something has arrived. The worker that serves the
	// connection sets it.
	Away bool

	// Ahead makes the loop read from the connection before it is served, see Worker.TakeAhead. The owner sets it
	// before Add, and the worker that serves the connection clears it if it has no use for that any more.
	Ahead bool

	port  uint16 // of the peer
	state atomic.Uint32
	fd    int32
	gen   atomic.Uint32 // distinguishes this connection's events from those of earlier ones with the same descriptor
	out   atomic.Bool   // the loop watches for room to write
	uses  gate          // running calls that use the descriptor, see use
	loop  *Loop
	led   atomic.Pointer[Loop] // loop on which it is served: its own, or the one that accepted it
	run   atomic.Uint64        // the run of led that serves it; 0 if a goroutine off the loops does
	by    atomic.Int64         // when it expires; 0 means never
	timer clock.Timer[*Conn]
	view  atomic.Pointer[view] // set while a goroutine waits, and once a deadline was set

	addr  [16]byte                  // of the peer, see Peer; zero if the socket is a unix one
	asked atomic.Pointer[addresses] // results of RemoteAddr and LocalAddr
}

// Bits of Conn.state.
const (
	busy     = 1 << iota // a worker serves it
	readable             // there was an event since the last read
	writable             // there was an event since the last write
	hungUp               // the client sends nothing more
	broken               // the client reads nothing more either
	closed               // Close was called
	gone                 // detached from the loop
	want                 // a Push is running or has left bytes, see Push
)

// claim records an event and makes the caller serve c if the event is a reason to. Something to read always is; room
// to write is one if a Push has left bytes. claim reports false if there is no reason, or if c is already being served.
func (c *Conn) claim(bits uint32) bool {
	for {
		s := c.state.Load()
		if s&busy == 0 && (bits&readable != 0 || s&want != 0) {
			if c.state.CompareAndSwap(s, (s|bits|busy)&^readable) {
				return true
			}
		} else if c.state.CompareAndSwap(s, s|bits) {
			if v := c.view.Load(); v != nil {
				c.wake(v)
			}
			return false
		}
	}
}

// Park returns c to the loop, which has c served again when there is something to read, and at the latest when the
// moment by has come; 0 means never. Park reports false if something has arrived already, or if there is room for the
// bytes that a Push has left: then the caller keeps serving c.
func (c *Conn) Park(by Moment) bool {
	early := c.by.Load()
	if by = by.tick(); int64(by) != early {
		c.by.Store(int64(by))
	}
	c.stopView()
	loop := c.loop
	for {
		s := c.state.Load()
		if s&(readable|writable) != 0 && s&(readable|want) != 0 { // the first half suffices for most connections
			c.state.And(^uint32(readable))
			c.by.Store(early) // the next Park compares with what the loop knows
			return false
		}
		if c.state.CompareAndSwap(s, s&^busy) {
			break
		}
	}
	if by != 0 && (early == 0 || int64(by) < early) {
		loop.post(c, postTime)
	}
	return true
}

// Requeue has the loop serve c again, after other connections that have something to read. The goroutine that serves c calls it
// instead of Park when others are to have their turn, and does not use c any more.
func (c *Conn) Requeue() {
	c.stopView()
	c.loop.post(c, postServe)
}

// stopView forgets the deadlines, and wakes all goroutines that wait.
func (c *Conn) stopView() {
	if v := c.view.Load(); v != nil {
		v.stop()
		c.view.Store(nil)
	}
}

// Ended reports whether the client sends nothing after the bytes that can be read now.
func (c *Conn) Ended() bool { return c.state.Load()&(hungUp|closed) != 0 }

// leave makes another worker lead the loop if c is being served on the loop.
func (c *Conn) leave() {
	if run := c.run.Load(); run != 0 {
		c.run.Store(0)
		c.led.Load().steal(run)
	}
}

// TryRead reads the available bytes. It returns syscall.EAGAIN if there are none.
func (c *Conn) TryRead(p []byte) (int, error) {
	n, err := c.loop.read(int(c.fd), p)
	if n > 0 || len(p) == 0 && err == nil {
		return n, nil
	}
	return 0, c.noRead(err)
}

// noRead converts the result of a system call that read nothing into a buffer with room, into the error of TryRead.
func (c *Conn) noRead(err error) error {
	if err == nil {
		return io.EOF
	}
	return c.named("read", err)
}

// TryWrite writes the bytes that the socket accepts. A short write is not an error.
func (c *Conn) TryWrite(p []byte) (int, error) {
	n, err := c.loop.write(int(c.fd), p)
	if n > 0 {
		return n, nil
	}
	if err == syscall.EAGAIN {
		err = nil
	}
	return n, c.named("write", err)
}

// named wraps the error of a system call like package net does.
func (c *Conn) named(op string, err error) error {
	if err == nil || err == io.EOF || err == syscall.EAGAIN {
		return err
	}
	if c.state.Load()&closed != 0 {
		err = net.ErrClosed
	} else if errno, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, errno)
	}
	return &net.OpError{Op: op, Net: c.network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	for {
		if err := c.expired(readable); err != nil {
			return 0, c.named("read", err)
		}
		if !c.use() {
			return 0, c.named("read", net.ErrClosed)
		}
		n, err := c.TryRead(p)
		if c.done(); err != syscall.EAGAIN {
			return n, err
		}
		if err := c.await(readable); err != nil {
			return 0, c.named("read", err)
		}
	}
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (n int, err error) {
	for {
		if err := c.expired(writable); err != nil {
			return n, c.named("write", err)
		}
		m, err := c.TryWriteShared(p[n:])
		if n += m; n == len(p) || err != nil {
			return n, err
		}
		if err := c.await(writable); err != nil {
			return n, c.named("write", err)
		}
	}
}

// TryWriteShared is like TryWrite, but any goroutine may call it.
func (c *Conn) TryWriteShared(p []byte) (int, error) {
	if !c.use() {
		return 0, c.named("write", net.ErrClosed)
	}
	defer c.done()
	return c.TryWrite(p)
}

// TryWriteBoth is like TryWrite with a followed by b. If more is true, the system may hold back the end of b that
// does not fill a packet: until the next write, or for 200 ms if there is none.
func (c *Conn) TryWriteBoth(a, b []byte, more bool) (int, error) {
	n, err := c.loop.writeBoth(int(c.fd), a, b, more)
	if err == syscall.EAGAIN {
		err = nil
	}
	return n, c.named("write", err)
}

// SendFile sends up to n bytes of f, starting at off. It does not use the position of f, so several goroutines can send
// parts of the same file at the same time.
func (c *Conn) SendFile(f *os.File, off, n int64) (sent int64, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	for sent < n {
		if err := c.expired(writable); err != nil {
			return sent, c.named("sendfile", err)
		}
		var m int
		var serr error
		if !c.use() {
			return sent, c.named("sendfile", net.ErrClosed)
		}
		err := raw.Control(func(fd uintptr) {
			m, serr = c.loop.sendfile(int(c.fd), f, int(fd), off+sent, int(min(n-sent, maxSendfile)))
		})
		if c.done(); err != nil {
			return sent, err
		}
		sent += int64(max(m, 0))
		switch {
		case serr == syscall.EINTR:
		case serr == syscall.EAGAIN:
			if err := c.await(writable); err != nil {
				return sent, c.named("sendfile", err)
			}
		case serr != nil:
			return sent, c.named("sendfile", serr)
		case m == 0:
			return sent, nil
		}
	}
	return sent, nil
}

// ReadFrom implements io.ReaderFrom. It sends a limited part of a file with sendfile, from the position of the file,
// which it moves like Read does.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if f, ok := l.R.(*os.File); ok {
			if n, err := c.readFile(f, l.N); n > 0 || !CannotSendFile(err) {
				l.N -= n
				return n, err
			}
		}
	}
	return io.Copy(writerOnly{c}, r)
}

// readFile is ReadFrom for a file.
func (c *Conn) readFile(f *os.File, n int64) (int64, error) {
	off, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, syscall.EINVAL // not a regular file
	}
	n, err = c.SendFile(f, off, n)
	if n > 0 {
		if _, serr := f.Seek(off+n, io.SeekStart); err == nil {
			err = serr
		}
	}
	return n, err
}

type writerOnly struct{ io.Writer }

// use keeps the descriptor open until done is called. It reports false if the connection is closed, since its
// descriptor may then belong to another connection.
func (c *Conn) use() bool { return c.uses.enter() }

// done ends a use. If the connection was closed meanwhile, the last done closes the descriptor.
func (c *Conn) done() {
	if c.uses.leave() {
		_ = c.loop.g.close(int(c.fd))
	}
}

// Close closes the connection in both directions. It wakes waiting goroutines and tells the worker that serves the
// connection, which then closes the descriptor with Finish.
func (c *Conn) Close() error {
	if c.state.Or(closed)&closed != 0 {
		return net.ErrClosed
	}
	if c.use() {
		_ = c.loop.shutdown(int(c.fd), syscall.SHUT_RDWR)
		c.done()
	}
	if v := c.view.Load(); v != nil {
		c.wake(v)
	}
	return nil
}

// Finish closes the connection and its descriptor, unless Take was called. Only the worker that serves c may call it.
func (c *Conn) Finish() {
	if c.detach() {
		if c.uses.shut() {
			_ = c.loop.g.close(int(c.fd))
		}
		c.loop.post(c, postGone)
	}
}

// detach removes c from the loop. It reports false if c was removed before.
func (c *Conn) detach() bool {
	if c.state.Or(closed|gone)&gone != 0 {
		return false
	}
	if v := c.view.Load(); v != nil {
		v.stop()
	}
	c.loop.g.table.clear(int(c.fd))
	return true
}

// Take removes the connection from the loop and returns it as a connection of package net. The worker that serves c
// calls it instead of Finish. If Take returns an error, the connection is closed.
func (c *Conn) Take() (net.Conn, error) {
	if !c.detach() {
		return nil, net.ErrClosed
	}
	for !c.uses.shutEmpty() { // running calls do not wait, so they end soon
		runtime.Gosched()
	}
	c.loop.forget(c)
	defer c.loop.post(c, postGone)
	return c.loop.take(int(c.fd))
}

// CloseWrite shuts down the sending direction.
func (c *Conn) CloseWrite() error {
	if !c.use() {
		return c.named("close", net.ErrClosed)
	}
	defer c.done()
	return c.named("close", c.loop.shutdown(int(c.fd), syscall.SHUT_WR))
}
