//go:build unix && !aix

package conn

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/poll"
)

// rawWait reads from a socket, and holds no buffer while there is nothing to read.
type rawWait struct {
	conn  syscall.RawConn
	try   func(fd uintptr) bool // made once: a closure per wait would be garbage
	look  func(fd uintptr)      // so is this
	in    *Input
	n     int
	err   error
	quiet bool // nothing has arrived
}

func (w *rawWait) init(nc net.Conn) {
	switch nc := nc.(type) {
	case *net.TCPConn:
		w.conn, _ = nc.SyscallConn()
	case *net.UnixConn:
		w.conn, _ = nc.SyscallConn()
	}
}

func (w *rawWait) ok() bool { return w.conn != nil }

func (w *rawWait) read(in *Input) (int, error) {
	if w.try == nil {
		w.in, w.try = in, w.tryRead
	}
	if err := w.conn.Read(w.try); err != nil {
		return 0, err
	}
	return w.n, w.err
}

// arrived reports whether the next read does not have to wait. It returns false if that is unknown.
func (w *rawWait) arrived() bool {
	if w.conn == nil {
		return false
	}
	if w.look == nil {
		w.look = func(fd uintptr) { w.quiet = poll.Quiet(int(fd)) }
	}
	return w.conn.Control(w.look) == nil && !w.quiet
}

// tryRead reports whether it has read something, or failed.
func (w *rawWait) tryRead(fd uintptr) bool {
	in := w.in
	if in.buf == nil {
		in.buf = bufpool.Get(in.C.Set.ReadBuf)
	}
	if w.n, w.err = poll.Read(int(fd), in.buf[:cap(in.buf)]); w.err == syscall.EAGAIN {
		in.park()
		return false
	}
	return true
}

// trySendFile sends up to n bytes of file with sendfile, starting at offset at. It reports false if the connection or the
// system cannot do that.
func trySendFile(to io.ReaderFrom, file *os.File, at, n int64) (sent int64, err error, ok bool) {
	switch to := to.(type) {
	case interface {
		SendFile(f *os.File, off, n int64) (int64, error)
	}:
		sent, err = to.SendFile(file, at, n)
	case *net.TCPConn:
		sent, err = poll.SendFile(to, file, at, n)
	default:
		return 0, nil, false
	}
	return sent, err, sent > 0 || !poll.CannotSendFile(err)
}
