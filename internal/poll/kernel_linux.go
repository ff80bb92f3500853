package poll

import (
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// Kernel stands in for the operating system in tests: a Group that is made with one asks
// it for everything that others ask of the system, by calls that do what those of the same
// names do. They may be made by several goroutines at a time.
type Kernel interface {
	EpollCreate() (ep int, err error)
	EpollCtl(ep, op, fd int, event *syscall.EpollEvent) error

	// EpollWait waits for events until one is there, the timeout is over, or Ring is called.
	// It does not wait if the timeout is 0, and for ever if it is negative.
	EpollWait(ep int, events []syscall.EpollEvent, timeout time.Duration) int
	Ring(ep int)

	Accept(fd int) (conn int, peer syscall.Sockaddr, err error)
	Name(fd int) (syscall.Sockaddr, error)
	Read(fd int, p []byte) (int, error)
	Write(fd int, p []byte) (int, error)
	Writev(fd int, a, b []byte) (int, error)
	Sendfile(fd int, f *os.File, n int) (int, error)
	Shutdown(fd, how int) error
	Close(fd int) error

	// Take closes fd and returns its connection as one that waits.
	Take(fd int) (net.Conn, error)
}

// The calls that loops and connections make. Each costs a look at whether there is a Kernel.

func (l *Loop) epollCtl(op, fd int, event *syscall.EpollEvent) error {
	if l.kernel != nil {
		forKernel := *event // which may keep it, as the system does not
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

// sendfile is given f, and its descriptor.
func (l *Loop) sendfile(fd int, f *os.File, from, n int) (int, error) {
	if l.kernel != nil {
		return l.kernel.Sendfile(fd, f, n)
	}
	return syscall.Sendfile(fd, from, nil, n)
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

// peer returns the address of the other end. It is asked of unix sockets only, which a Kernel has none of.
func (l *Loop) peer(fd int) (syscall.Sockaddr, error) {
	if l.kernel != nil {
		return nil, syscall.EOPNOTSUPP
	}
	return syscall.Getpeername(fd)
}

// take makes a connection of package net of a descriptor, which is closed.
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
	return accept4(fd)
}
