//go:build unix && !aix

package h2client

import (
	"net"
	"os"
	"syscall"

	"github.com/gallop-http/gallop/internal/poll"
)

// socket writes to a socket without waiting.
type socket struct {
	nc   net.Conn
	conn syscall.RawConn
	try  func(fd uintptr) bool // made once: a closure per write would be garbage

	p   []byte
	n   int
	err error
}

// init makes s use nc if nc is a socket.
func (s *socket) init(nc net.Conn) {
	switch nc := nc.(type) {
	case *net.TCPConn:
		s.conn, _ = nc.SyscallConn()
	case *net.UnixConn:
		s.conn, _ = nc.SyscallConn()
	}
	if s.conn != nil {
		s.nc, s.try = nc, s.step
	}
}

func (s *socket) ok() bool { return s.conn != nil }

// write writes what the socket accepts at once. Only one goroutine may call it at a time.
func (s *socket) write(p []byte) (n int, err error) {
	s.p, s.n, s.err = p, 0, nil
	if err = s.conn.Write(s.try); err == nil {
		err = s.err
	}
	s.p = nil
	return s.n, err
}

func (s *socket) step(fd uintptr) bool {
	n, err := poll.Write(int(fd), s.p)
	switch {
	case err == nil:
		s.n = n
	case err != syscall.EAGAIN:
		local, remote := s.nc.LocalAddr(), s.nc.RemoteAddr()
		s.err = &net.OpError{Op: "write", Net: remote.Network(), Source: local, Addr: remote, Err: os.NewSyscallError("write", err)}
	}
	return true
}
