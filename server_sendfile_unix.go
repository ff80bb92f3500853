//go:build unix && !aix

package gallop

import (
	"io"
	"net"
	"os"

	"github.com/gallop-http/gallop/internal/poll"
)

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
