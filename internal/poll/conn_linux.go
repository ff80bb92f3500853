package poll

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// Conn is a connection of a loop. While nobody serves it, it is this struct and a
// socket. Whoever serves it, on the loop or on a goroutine, may read and write without
// waiting, by TryRead and TryWrite, or as with any net.Conn: what has to wait then gives
// the loop away first.
//
// Exactly one goroutine serves a connection at a time: it got it from the loop, and ends
// by Park or Finish. TryRead, TryWrite and TryWriteBoth are its own. What a net.Conn has
// may be used by others, and later: it fails when the connection has ended, whatever its
// descriptor stands for by then.
type Conn struct {
	// Data is the owner's.
	Data any

	// Away has it served by a worker off the loops when something has come. It is for who
	// serves the connection to set.
	Away bool

	// Ahead has its loop read what has come before it is served, see Worker.Ahead. It is for
	// the owner to set before the connection is added.
	Ahead bool

	port  uint16 // of the peer
	state atomic.Uint32
	fd    int32
	gen   atomic.Uint32 // tells the event of one connection from those of others with the same descriptor
	out   atomic.Bool   // the loop is told when it can be written to
	uses  gate          // calls on the descriptor, see use
	loop  *Loop
	led   atomic.Pointer[Loop] // that serves it: its own, or the one that has accepted it,
	run   atomic.Uint64        // in this run; 0 if a goroutine does
	by    atomic.Int64         // when it expires; 0: never
	timer clock.Timer[*Conn]
	view  atomic.Pointer[view] // only while somebody waits, or has set deadlines

	addr  netip.Addr                // of the peer; not valid if the socket is a unix one
	asked atomic.Pointer[addresses] // what RemoteAddr and LocalAddr have returned
}

// addresses are those of a connection. They are never changed, only replaced by others with one more.
type addresses struct {
	remote *net.TCPAddr // addr and port, once somebody has asked
	local  net.Addr     // the same for the socket's own name
}

// known returns the addresses that somebody has asked for.
func (c *Conn) known() addresses {
	if a := c.asked.Load(); a != nil {
		return *a
	}
	return addresses{}
}

// Bits of Conn.state.
const (
	busy     = 1 << iota // somebody serves it
	readable             // there was an event since it was last read from
	writable             // the same for writing
	hungUp               // the client sends no more
	broken               // nor does it take any
	closed               // Close was called
	gone                 // the loop has nothing to do with it any more
)

// view is what it takes to wait.
type view struct {
	mu     sync.Mutex
	change sync.Cond
	read   limit
	write  limit
	over   bool // nobody may wait any more
}

// limit is a deadline and the timer that wakes up who waits for it.
type limit struct {
	at    int64 // 0: none
	timer *time.Timer
	fires int64 // when the timer does; 0 while it does not run
}

// claim makes the caller the one who serves c, if nobody does.
func (c *Conn) claim(bits uint32) bool {
	for {
		s := c.state.Load()
		if s&busy == 0 {
			if c.state.CompareAndSwap(s, (s|bits|busy)&^readable) {
				return true
			}
		} else if c.state.CompareAndSwap(s, s|bits) {
			if v := c.view.Load(); v != nil {
				v.wake()
			}
			return false
		}
	}
}

// Park leaves c to the loop, which has it served again when there is something to read,
// or at the latest at the moment by; 0 is never. It reports false if something is there
// already: then the caller goes on.
func (c *Conn) Park(by Moment) bool {
	early := c.by.Load()
	if by = by.tick(); int64(by) != early {
		c.by.Store(int64(by))
	}
	if v := c.view.Load(); v != nil {
		v.stop()
		c.view.Store(nil)
	}
	loop := c.loop
	for {
		s := c.state.Load()
		if s&readable != 0 {
			c.state.And(^uint32(readable))
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

// Ended reports whether the client sends no more than what can be read now.
func (c *Conn) Ended() bool { return c.state.Load()&(hungUp|closed) != 0 }

// leave has somebody else lead the loop, if c is being served by it.
func (c *Conn) leave() {
	if run := c.run.Load(); run != 0 {
		c.run.Store(0)
		c.led.Load().steal(run)
	}
}

// TryRead reads what there is, and returns syscall.EAGAIN if that is nothing.
func (c *Conn) TryRead(p []byte) (int, error) {
	n, err := c.loop.read(int(c.fd), p)
	if n > 0 || len(p) == 0 && err == nil {
		return n, nil
	}
	return 0, c.noRead(err)
}

// noRead makes of what a call returned that read nothing, though there was room, the error of
// TryRead.
func (c *Conn) noRead(err error) error {
	if err == nil {
		return io.EOF
	}
	return c.named("read", err)
}

// TryWrite writes what the socket takes. It returns no error if that is not all.
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

// named makes of what a call returned what a net.Conn does.
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

// TryWriteShared is TryWrite for those who need not be the one who serves c.
func (c *Conn) TryWriteShared(p []byte) (int, error) {
	if !c.use() {
		return 0, c.named("write", net.ErrClosed)
	}
	defer c.done()
	return c.TryWrite(p)
}

// TryWriteBoth is TryWrite of a and b, one behind the other. If more is true, the system may hold back the end of b, which
// fills no packet, until the next write, or for 200 ms if there is none.
func (c *Conn) TryWriteBoth(a, b []byte, more bool) (int, error) {
	n, err := c.loop.writeBoth(int(c.fd), a, b, more)
	if err == syscall.EAGAIN {
		err = nil
	}
	return n, c.named("write", err)
}

// maxSendfile is how much one call of sendfile is asked to send.
const maxSendfile = 4 << 20

// SendFile sends up to n bytes of f from its current offset on.
func (c *Conn) SendFile(f *os.File, n int64) (sent int64, err error) {
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
			m, serr = c.loop.sendfile(int(c.fd), f, int(fd), int(min(n-sent, maxSendfile)))
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

// ReadFrom implements io.ReaderFrom, for files by sendfile.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if f, ok := l.R.(*os.File); ok {
			n, err := c.SendFile(f, l.N)
			l.N -= n
			if n > 0 || !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOSYS) {
				return n, err
			}
		}
	}
	return io.Copy(writerOnly{c}, r)
}

type writerOnly struct{ io.Writer }

// expired returns an error if the deadline for reading, or writing, has passed.
func (c *Conn) expired(bit uint32) error {
	v := c.view.Load()
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if l := v.limitFor(bit); l.at != 0 && (l.at == past || int64(Now()) >= l.at) {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// AwaitBreak waits until the client takes nothing any more, for as long as a Read might wait. Without an error that is so.
func (c *Conn) AwaitBreak() error { return c.named("read", c.await(broken)) }

// await waits until c may be readable, or writable, or is broken.
func (c *Conn) await(bit uint32) error {
	c.leave()
	enough := bit | broken | closed
	switch bit {
	case readable:
		enough |= hungUp
	case writable:
		if err := c.wantWritable(); err != nil {
			return err
		}
	}
	v := c.waiting()
	v.mu.Lock()
	defer v.mu.Unlock()
	for {
		if s := c.state.Load(); s&closed != 0 {
			return net.ErrClosed
		} else if s&enough != 0 {
			c.state.And(^(bit &^ broken))
			return nil
		} else if v.over {
			return net.ErrClosed
		}
		l := v.limitFor(bit)
		if l.at != 0 {
			left := l.at - int64(Now())
			if l.at == past || left <= 0 {
				return os.ErrDeadlineExceeded
			}
			l.wind(v, time.Duration(left))
		}
		v.change.Wait()
	}
}

// wantWritable has the loop told when c can be written to.
func (c *Conn) wantWritable() error {
	if c.out.Load() {
		return nil
	}
	if !c.use() {
		return net.ErrClosed
	}
	defer c.done()
	c.out.Store(true)
	return c.loop.modify(c, eventsBoth)
}

// waiting returns the view of c.
func (c *Conn) waiting() *view {
	for {
		if v := c.view.Load(); v != nil {
			return v
		}
		v := &view{}
		v.change.L = &v.mu
		c.view.CompareAndSwap(nil, v)
	}
}

func (v *view) limitFor(bit uint32) *limit {
	if bit == writable {
		return &v.write
	}
	return &v.read
}

func (v *view) wake() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.change.Broadcast()
}

// wind sees to it that those who wait look at the time when it has passed. A timer that
// runs already is left alone if it fires before: they wind it up again.
func (l *limit) wind(v *view, left time.Duration) {
	if l.fires != 0 && l.fires <= l.at {
		return
	}
	l.fires = l.at
	if l.timer == nil {
		l.timer = time.AfterFunc(left, func() {
			v.mu.Lock()
			defer v.mu.Unlock()
			l.fires = 0
			v.change.Broadcast()
		})
		return
	}
	l.timer.Reset(left)
}

// stop ends the timers, and the waiting.
func (v *view) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	v.change.Broadcast()
	for _, l := range []*limit{&v.read, &v.write} {
		if l.timer != nil {
			l.timer.Stop()
		}
	}
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	c.setLimit(t, readable)
	c.setLimit(t, writable)
	return c.openError()
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.setLimit(t, readable)
	return c.openError()
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.setLimit(t, writable)
	return c.openError()
}

func (c *Conn) openError() error {
	if c.state.Load()&closed != 0 {
		return net.ErrClosed
	}
	return nil
}

func (c *Conn) setLimit(t time.Time, bit uint32) {
	if t.IsZero() && c.view.Load() == nil {
		return
	}
	v := c.waiting()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.limitFor(bit).at = momentOf(t)
	v.change.Broadcast()
}

// use keeps the descriptor from being closed until done is called. It reports false if the
// connection has ended: then the descriptor may be another one's.
func (c *Conn) use() bool { return c.uses.enter() }

// done is the end of a use. The last one closes the descriptor if that was left to it.
func (c *Conn) done() {
	if c.uses.leave() {
		_ = c.loop.g.close(int(c.fd))
	}
}

// Close ends the connection for both sides. Who waits for it, or serves it, is told, and
// gives the descriptor back by Finish.
func (c *Conn) Close() error {
	if c.state.Or(closed)&closed != 0 {
		return net.ErrClosed
	}
	if c.use() {
		_ = c.loop.shutdown(int(c.fd), syscall.SHUT_RDWR)
		c.done()
	}
	if v := c.view.Load(); v != nil {
		v.wake()
	}
	return nil
}

// Finish closes the connection for good, unless it was taken. It is for who serves it.
func (c *Conn) Finish() {
	if c.detach() {
		if c.uses.shut() {
			_ = c.loop.g.close(int(c.fd))
		}
		c.loop.post(c, postGone)
	}
}

// detach makes the loop forget c, and reports false if it has before.
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

// Take takes the connection away from the loop, and returns it as package net has it. It
// is for who serves it, instead of Finish. With an error the connection is closed.
func (c *Conn) Take() (net.Conn, error) {
	if !c.detach() {
		return nil, net.ErrClosed
	}
	for !c.uses.shutEmpty() { // of calls that do not wait
		runtime.Gosched()
	}
	c.loop.forget(c)
	defer c.loop.post(c, postGone)
	return c.loop.take(int(c.fd))
}

// CloseWrite ends the connection for writing.
func (c *Conn) CloseWrite() error {
	if !c.use() {
		return c.named("close", net.ErrClosed)
	}
	defer c.done()
	return c.named("close", c.loop.shutdown(int(c.fd), syscall.SHUT_WR))
}

// SyscallConn implements syscall.Conn. The functions are called at once, whether the
// socket is ready or not.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return rawConn{c}, c.openError() }

type rawConn struct{ c *Conn }

func (r rawConn) Control(f func(uintptr)) error {
	if err := r.c.openError(); err != nil {
		return err
	}
	if !r.c.use() {
		return net.ErrClosed
	}
	defer r.c.done()
	f(uintptr(r.c.fd))
	return nil
}

func (r rawConn) Read(f func(uintptr) bool) error { return r.until(f, readable) }

func (r rawConn) Write(f func(uintptr) bool) error { return r.until(f, writable) }

// until calls f until it is done, whenever c may be readable, or writable.
func (r rawConn) until(f func(uintptr) bool, bit uint32) error {
	for done := false; ; {
		if err := r.Control(func(fd uintptr) { done = f(fd) }); err != nil || done {
			return err
		}
		if err := r.c.await(bit); err != nil {
			return err
		}
	}
}

// Peer returns the client's address; it is not valid for a unix socket.
func (c *Conn) Peer() netip.AddrPort { return netip.AddrPortFrom(c.addr, c.port) }

func (c *Conn) network() string {
	if c.addr.IsValid() {
		return "tcp"
	}
	return "unix"
}

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr {
	if !c.addr.IsValid() {
		return &net.UnixAddr{Net: "unix", Name: c.peerName()}
	}
	known := c.known()
	if known.remote == nil {
		known.remote = net.TCPAddrFromAddrPort(c.Peer())
		c.asked.Store(&known)
	}
	return known.remote
}

// peerName returns what the peer has bound its unix socket to. One without a name is "@", as package
// net has it.
func (c *Conn) peerName() string {
	name := "@"
	_ = (rawConn{c}).Control(func(fd uintptr) {
		sa, _ := c.loop.peer(int(fd))
		if u, ok := sa.(*syscall.SockaddrUnix); ok {
			name = u.Name
		}
	})
	return name
}

// LocalAddr implements net.Conn. The system is asked once.
func (c *Conn) LocalAddr() net.Addr {
	known := c.known()
	if known.local == nil {
		if known.local = c.ownName(); known.local != nil {
			c.asked.Store(&known)
		}
	}
	if known.local != nil {
		return known.local
	}
	if c.addr.IsValid() {
		return &net.TCPAddr{}
	}
	return &net.UnixAddr{Net: "unix"}
}

// ownName returns the name of the socket, nil if it has none any more.
func (c *Conn) ownName() net.Addr {
	var sa syscall.Sockaddr
	if err := (rawConn{c}).Control(func(fd uintptr) { sa, _ = c.loop.name(int(fd)) }); err != nil {
		return nil
	}
	if at := addrPort(sa); at.IsValid() {
		return net.TCPAddrFromAddrPort(at)
	}
	if u, ok := sa.(*syscall.SockaddrUnix); ok {
		return &net.UnixAddr{Net: "unix", Name: u.Name}
	}
	return nil
}

// addrPort returns the address of an internet socket.
func addrPort(sa syscall.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(addr6(sa.Addr, sa.ZoneId), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

// addr6 returns an address of IPv6, or one of IPv4 that is mapped to it.
func addr6(octets [16]byte, zone uint32) netip.Addr {
	ip := netip.AddrFrom16(octets).Unmap()
	if ip.Is6() && zone != 0 {
		if where, err := net.InterfaceByIndex(int(zone)); err == nil {
			ip = ip.WithZone(where.Name)
		}
	}
	return ip
}
