//go:build unix && !aix

package gallop

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/gallop-http/gallop/internal/poll"
)

// asker makes exchanges on a socket: it checks the socket, writes, waits and reads. A write does not wait; the
// caller sends what the socket did not accept at once.
type asker struct {
	nc   net.Conn
	conn syscall.RawConn
	next func(fd uintptr) bool // step, made once: a closure per exchange would be garbage

	out, in   []byte
	sent, got int
	err       error
	look      bool // whether something has come, before anything is sent
	waits     bool // all was written
}

// init makes a use nc if nc is a socket. It does not look for a socket inside a wrapper, because the wrapper
// may want to see the bytes.
func (a *asker) init(nc net.Conn) {
	switch nc := nc.(type) {
	case *net.TCPConn:
		a.conn, _ = nc.SyscallConn()
	case *net.UnixConn:
		a.conn, _ = nc.SyscallConn()
	}
	if a.conn != nil {
		a.nc, a.next = nc, a.step
	}
}

func (a *asker) ok() bool { return a.conn != nil }

// exchange sends out, waits, and reads once into in, which may be the same memory. If look is set, it checks
// the socket before it sends; if something has already arrived, the error is errStale. If sent is less than
// len(out), nothing was read.
func (a *asker) exchange(out, in []byte, look bool) (sent, got int, err error) {
	a.out, a.in, a.sent, a.got, a.err, a.look, a.waits = out, in, 0, 0, nil, look, false
	err = a.conn.Read(a.next)
	a.out, a.in = nil, nil
	if err == nil {
		err = a.err
	}
	return a.sent, a.got, err
}

// step does what can be done without waiting, and reports whether that was all.
func (a *asker) step(fd uintptr) bool {
	if a.waits {
		return a.read(int(fd))
	}
	if a.look && !poll.Quiet(int(fd)) {
		a.err = errStale
		return true
	}
	return a.write(int(fd))
}

// write writes out. The poller wakes the caller for data that arrives from now on, but not for earlier data. So
// write also tries a read, unless the check has just found that nothing had arrived.
func (a *asker) write(fd int) (over bool) {
	n, err := poll.Write(fd, a.out)
	if err != nil && err != syscall.EAGAIN {
		a.fail("write", err)
		return true
	}
	a.sent = n
	a.waits = a.sent == len(a.out)
	return !a.waits || !a.look && a.read(fd)
}

func (a *asker) read(fd int) (over bool) {
	n, err := poll.Read(fd, a.in)
	switch {
	case err == syscall.EAGAIN:
		return false
	case err != nil:
		a.fail("read", err)
	case n == 0:
		a.err = io.EOF
	}
	a.got = n
	return true
}

func (a *asker) fail(op string, err error) {
	local, remote := a.nc.LocalAddr(), a.nc.RemoteAddr()
	a.err = &net.OpError{Op: op, Net: remote.Network(), Source: local, Addr: remote, Err: os.NewSyscallError(op, err)}
}
