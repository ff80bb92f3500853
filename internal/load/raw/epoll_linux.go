package raw

import (
	"net/netip"
	"runtime"
	"syscall"
	"time"
)

// socket is a connection of the driver with epoll.
type socket struct {
	fd    int32
	round int32 // tells connections apart that had the same descriptor one after the other
}

// epoll is the driver that makes its own system calls. It is edge-triggered.
type epoll struct {
	t      *thread
	fd     int
	to     syscall.Sockaddr
	family int
	local  []syscall.Sockaddr
	opened int     // number of connections so far
	conns  []*conn // by descriptor
	events []syscall.EpollEvent
	limit  syscall.Timespec
}

func defaultDriver(t *thread) (driver, error) {
	if t.tls != nil {
		return newNetDriver(t)
	}
	return newEpoll(t)
}

func newEpoll(t *thread) (driver, error) {
	e := &epoll{t: t, events: make([]syscall.EpollEvent, 512)}
	if err := e.setAddresses(); err != nil {
		return nil, err
	}
	var err error
	if e.fd, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	keepTime()
	return e, nil
}

func (e *epoll) setAddresses() error {
	if e.t.Network == "unix" {
		e.family, e.to = syscall.AF_UNIX, &syscall.SockaddrUnix{Name: e.t.target}
		return nil
	}
	to, err := netip.ParseAddrPort(e.t.target)
	if err != nil {
		return err
	}
	e.to = sockaddr(to)
	e.family = syscall.AF_INET6
	if to.Addr().Is4() {
		e.family = syscall.AF_INET
	}
	for _, addr := range e.t.local {
		e.local = append(e.local, sockaddr(netip.AddrPortFrom(addr, 0)))
	}
	return nil
}

func sockaddr(a netip.AddrPort) syscall.Sockaddr {
	if a.Addr().Is4() {
		return &syscall.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &syscall.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// open makes a socket that connects.
func (e *epoll) open(c *conn) error {
	fd, err := syscall.Socket(e.family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if err = e.connect(fd); err == nil {
		const edgeTriggered = 1 << 31
		e.opened++
		c.sock = socket{int32(fd), int32(e.opened)}
		event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | edgeTriggered, Fd: c.sock.fd, Pad: c.sock.round}
		err = syscall.EpollCtl(e.fd, syscall.EPOLL_CTL_ADD, fd, &event)
	}
	if err != nil {
		syscall.Close(fd)
		c.sock = socket{}
		return err
	}
	for fd >= len(e.conns) {
		e.conns = append(e.conns, make([]*conn, 256)...)
	}
	e.conns[fd] = c
	return nil
}

func (e *epoll) connect(fd int) error {
	if e.family != syscall.AF_UNIX {
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	}
	if len(e.local) > 0 {
		const bindAddressNoPort = 24 // the port is chosen by connect, which knows the other address
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, bindAddressNoPort, 1)
		if err := syscall.Bind(fd, e.local[e.opened%len(e.local)]); err != nil {
			return &failure{"local", err}
		}
	}
	for {
		switch err := syscall.Connect(fd, e.to); err {
		case syscall.EINTR:
		case syscall.EINPROGRESS:
			return nil
		default:
			return err
		}
	}
}

func (e *epoll) close(c *conn) {
	if c.sock.round == 0 {
		return
	}
	e.conns[c.sock.fd] = nil
	syscall.Close(int(c.sock.fd))
	c.sock = socket{}
}

func (e *epoll) shut(c *conn) error { return syscall.Shutdown(int(c.sock.fd), syscall.SHUT_WR) }

func (e *epoll) reset(c *conn) {
	_ = syscall.SetsockoptLinger(int(c.sock.fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
}

func (e *epoll) stop() { syscall.Close(e.fd) }

func (e *epoll) write(c *conn, p []byte) (n int, err error) {
	for n < len(p) {
		k, errno := write(c.sock.fd, p[n:])
		switch {
		case errno == 0:
			n += k
		case errno == syscall.EAGAIN:
			return n, nil
		case errno != syscall.EINTR:
			return n, errno
		}
	}
	return n, nil
}

// wait handles events. After each, it lets the thread do what is due.
func (e *epoll) wait(d time.Duration) {
	for _, event := range e.events[:epollWait(e.fd, e.events, d, &e.limit)] {
		c := e.conns[event.Fd]
		if c == nil || c.sock.round != event.Pad {
			continue
		}
		e.handle(c, event.Events)
		e.t.goOn(perEvent)
	}
}

func (e *epoll) handle(c *conn, events uint32) {
	if c.state == connecting {
		if !e.finishConnect(c) {
			return
		}
	} else if events&syscall.EPOLLOUT != 0 && c.hasOutput() {
		c.writable()
	}
	if events&(syscall.EPOLLIN|syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		e.read(c, events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0)
	}
}

// finishConnect reports whether the connection is open now.
func (e *epoll) finishConnect(c *conn) bool {
	errno, err := syscall.GetsockoptInt(int(c.sock.fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
	if err == nil && errno != 0 {
		err = syscall.Errno(errno)
	}
	if err != nil {
		c.end(classify(err))
		return false
	}
	e.t.connected(c, 0, false)
	return c.state == opened
}

// read reads what has arrived. all says that the end of the connection may be among it.
func (e *epoll) read(c *conn, all bool) {
	buf := e.t.buf
	for c.state == opened {
		n, errno := read(c.sock.fd, buf)
		switch {
		case errno == syscall.EAGAIN:
			return
		case errno == syscall.EINTR:
		case errno != 0:
			c.end(classify(errno))
		case n == 0:
			c.end(errClosed)
		default:
			if c.input(buf[:n]); n < len(buf) && !all {
				return
			}
		}
	}
}

func (e *epoll) sleep(d time.Duration) {
	limit := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&limit, nil) // a signal may end it early
}

// keepTime makes the kernel wake this thread exactly when it asked to be woken, and not up to 50 µs later. The goroutine
// stays on the thread, which ends with it.
func keepTime() {
	const setTimerSlack = 29
	runtime.LockOSThread()
	syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0)
}
