//go:build !unix || aix

package conn

import (
	"io"
	"net"
	"os"
)

// rawWait cannot wait without a buffer on this system.
type rawWait struct{}

func (w *rawWait) init(net.Conn)            {}
func (w *rawWait) ok() bool                 { return false }
func (w *rawWait) arrived() bool            { return false }
func (w *rawWait) read(*Input) (int, error) { return 0, nil }

// trySendFile has no sendfile with an offset on this system.
func trySendFile(io.ReaderFrom, *os.File, int64, int64) (sent int64, err error, ok bool) {
	return 0, nil, false
}
