//go:build unix && !aix

package h2client

import (
	"io"
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

// read reads until took returns false or has got an error. took handles n bytes, and returns room for more. It is
// called while the socket counts as being read, so it must not wait until the socket is closed.
//
// After a read that did not fill the room, the poller reports further input, and another attempt would find none. A Read for each
// time would have to make that attempt.
func (s *socket) read(room []byte, took func(n int, err error) ([]byte, bool)) {
	more := true
	err := s.conn.Read(func(fd uintptr) bool {
		for more {
			n, err := poll.Read(int(fd), room)
			switch {
			case err == syscall.EAGAIN:
				return false
			case err != nil:
				n, err = 0, s.failure("read", err)
			case n == 0:
				err = io.EOF
			}
			drained := n < len(room)
			if room, more = took(n, err); more && drained {
				return false
			}
		}
		return true
	})
	if err != nil && more {
		if failed, ok := err.(*net.OpError); ok {
			failed.Op = "read" // as Read of a net.Conn says
		}
		took(0, err)
	}
}

// failure returns the error of a system call as a net.Conn returns it.
func (s *socket) failure(op string, err error) error {
	local, remote := s.nc.LocalAddr(), s.nc.RemoteAddr()
	return &net.OpError{Op: op, Net: remote.Network(), Source: local, Addr: remote, Err: os.NewSyscallError(op, err)}
}

func (s *socket) step(fd uintptr) bool {
	n, err := poll.Write(int(fd), s.p)
	switch {
	case err == nil:
		s.n = n
	case err != syscall.EAGAIN:
		s.err = s.failure("write", err)
	}
	return true
}
