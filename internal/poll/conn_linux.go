package poll

import (
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
	// before Add.
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

	addr  netip.Addr                // of the peer; invalid if the socket is a unix one
	asked atomic.Pointer[addresses] // results of RemoteAddr and LocalAddr
}

// addresses holds the addresses of a connection. A value is never changed, only replaced by one with one more
// address.
type addresses struct {
	remote *net.TCPAddr // from addr and port, after the first call of RemoteAddr
	local  net.Addr     // name of the socket, after the first call of LocalAddr
}

// known returns the addresses that were asked for so far.
func (c *Conn) known() addresses {
	if a := c.asked.Load(); a != nil {
		return *a
	}
	return addresses{}
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

// view holds the state that is needed to wait for a connection.
type view struct {
	mu     sync.Mutex
	change sync.Cond
	read   limit
	write  limit
	over   bool // waiting is not possible any more
}

// limit is a deadline and the timer that wakes the goroutines that wait for it.
type limit struct {
	at    int64 // 0: none
	timer *time.Timer
	fires int64 // when the timer fires; 0 while it is stopped
}

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
				v.wake()
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
	if v := c.view.Load(); v != nil {
		v.stop()
		c.view.Store(nil)
	}
	loop := c.loop
	for {
		s := c.state.Load()
		if s&(readable|writable) != 0 && s&(readable|want) != 0 { // the first half suffices for most connections
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

// expired returns an error if the read deadline (bit readable) or the write deadline has passed.
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

// AwaitBreak blocks until the client accepts no more bytes. It respects the read deadline. A nil error means that the
// client is gone.
func (c *Conn) AwaitBreak() error { return c.named("read", c.await(broken)) }

// await blocks until c may be readable (or writable, according to bit) or is broken.
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

// wantWritable makes the loop watch for room to write to c.
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

// waiting returns the view of c, creating it if necessary.
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

// wind starts the timer that wakes waiting goroutines after left. A running timer that fires earlier is left alone:
// the goroutines that it wakes call wind again.
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

// stop stops the timers and wakes all waiting goroutines.
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
		v.wake()
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

// SyscallConn implements syscall.Conn. Its functions call f at once, even if the socket is not ready.
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

// until calls f until f returns true: first at once, then whenever c may have become readable (or writable).
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

// Peer returns the client's address. It is invalid for unix sockets.
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

// peerName returns the name that the peer bound its unix socket to. Like package net, it returns "@" if there is no
// name.
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

// LocalAddr implements net.Conn. It asks the system only once.
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

// ownName returns the name of the socket, or nil if the socket was closed.
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

// addrPort returns the address of an IPv4 or IPv6 socket.
func addrPort(sa syscall.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(addr6(sa.Addr, sa.ZoneId), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

// addr6 returns an IPv6 address, or an IPv4 address if it is mapped into IPv6.
func addr6(octets [16]byte, zone uint32) netip.Addr {
	ip := netip.AddrFrom16(octets).Unmap()
	if ip.Is6() && zone != 0 {
		if where, err := net.InterfaceByIndex(int(zone)); err == nil {
			ip = ip.WithZone(where.Name)
		}
	}
	return ip
}
