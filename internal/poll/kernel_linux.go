package poll

import (
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// Kernel replaces the operating system in tests. A Group with a Kernel makes all its system calls through it. The
// methods do what the system calls of the same names do, and may be called concurrently.
type Kernel interface {
	EpollCreate() (ep int, err error)
	EpollCtl(ep, op, fd int, event *syscall.EpollEvent) error

	// EpollWait waits until there are events, the timeout passes or Ring is called. It does not wait if the timeout
	// is 0, and waits forever if the timeout is negative.
	EpollWait(ep int, events []syscall.EpollEvent, timeout time.Duration) int
	Ring(ep int)

	Accept(fd int) (conn int, peer syscall.Sockaddr, err error)
	Name(fd int) (syscall.Sockaddr, error)
	Read(fd int, p []byte) (int, error)
	Write(fd int, p []byte) (int, error)
	Writev(fd int, a, b []byte) (int, error)
	Sendfile(fd int, f *os.File, off int64, n int) (int, error)
	Shutdown(fd, how int) error
	Close(fd int) error

	// Take closes fd and returns its connection as a blocking net.Conn.
	Take(fd int) (net.Conn, error)
}

// The system calls of loops and connections. Each costs one check for a Kernel.

func (l *Loop) epollCtl(op, fd int, event *syscall.EpollEvent) error {
	if l.kernel != nil {
		forKernel := *event // the Kernel may keep the pointer; the system does not
		return l.kernel.EpollCtl(l.ep, op, fd, &forKernel)
	}
	return syscall.EpollCtl(l.ep, op, fd, event)
}

func (l *Loop) read(fd int, p []byte) (int, error) {
	if l.kernel != nil {
		return l.kernel.Read(fd, p)
	}
	return Read(fd, p)
}

func (l *Loop) write(fd int, p []byte) (int, error) {
	if l.kernel != nil {
		return l.kernel.Write(fd, p)
	}
	return Write(fd, p)
}

func (l *Loop) writeBoth(fd int, a, b []byte, more bool) (int, error) {
	if l.kernel != nil {
		return l.kernel.Writev(fd, a, b)
	}
	return writeBoth(fd, a, b, more)
}

// sendfile gets both f and its descriptor.
func (l *Loop) sendfile(fd int, f *os.File, from int, off int64, n int) (int, error) {
	if l.kernel != nil {
		return l.kernel.Sendfile(fd, f, off, n)
	}
	return syscall.Sendfile(fd, from, &off, n)
}

func (l *Loop) shutdown(fd, how int) error {
	if l.kernel != nil {
		return l.kernel.Shutdown(fd, how)
	}
	return syscall.Shutdown(fd, how)
}

func (l *Loop) name(fd int) (syscall.Sockaddr, error) {
	if l.kernel != nil {
		return l.kernel.Name(fd)
	}
	return syscall.Getsockname(fd)
}

// peer returns the address of the other end. It is called only for unix sockets, which a Kernel does not have.
func (l *Loop) peer(fd int) (syscall.Sockaddr, error) {
	if l.kernel != nil {
		return nil, syscall.EOPNOTSUPP
	}
	return syscall.Getpeername(fd)
}

// take converts a descriptor to a connection of package net, and closes the descriptor.
func (l *Loop) take(fd int) (net.Conn, error) {
	if l.kernel != nil {
		return l.kernel.Take(fd)
	}
	f := os.NewFile(uintptr(fd), "")
	defer f.Close()
	return net.FileConn(f)
}

func (g *Group) close(fd int) error {
	if g.kernel != nil {
		return g.kernel.Close(fd)
	}
	return syscall.Close(fd)
}

func (g *Group) accept4(fd int) (int, netip.AddrPort, error) {
	if g.kernel != nil {
		conn, peer, err := g.kernel.Accept(fd)
		return conn, addrPort(peer), err
	}
	conn, peer, err := accept4(fd)
	if err == nil {
		reserve(conn)
	}
	return conn, peer, err
}
