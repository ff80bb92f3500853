//go:build unix && !aix

package poll

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// maxSendfile is the maximum number of bytes that one sendfile call is asked to send.
const maxSendfile = 4 << 20

// CannotSendFile reports whether err means that the system cannot send a file to a socket directly, so the file has to
// be read and written.
func CannotSendFile(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP)
}

// SendFile sends up to n bytes of f to a connection of package net, starting at off. It does not use the position of f.
// It respects the write deadline of the connection.
func SendFile(to *net.TCPConn, f *os.File, off, n int64) (sent int64, err error) {
	if !canSendFile {
		return 0, syscall.ENOSYS
	}
	out, err := to.SyscallConn()
	if err != nil {
		return 0, err
	}
	in, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var serr error
	send := func(socket, file uintptr) (done bool) {
		for sent < n {
			at := off + sent
			var m int
			m, serr = syscall.Sendfile(int(socket), int(file), &at, int(min(n-sent, maxSendfile)))
			sent += int64(max(m, 0)) // some systems send a part and fail
			switch {
			case serr == syscall.EINTR:
			case serr == syscall.EAGAIN:
				return sent == n
			case serr != nil || m == 0:
				return true
			}
		}
		return true
	}
	var werr error
	if err := in.Control(func(file uintptr) {
		werr = out.Write(func(socket uintptr) bool { return send(socket, file) })
	}); err != nil {
		return sent, err
	}
	if werr == nil && serr != nil && sent < n {
		werr = &net.OpError{Op: "sendfile", Net: "tcp", Source: to.LocalAddr(), Addr: to.RemoteAddr(), Err: os.NewSyscallError("sendfile", serr)}
	}
	return sent, werr
}
