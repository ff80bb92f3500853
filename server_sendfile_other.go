//go:build !unix || aix

package gallop

import (
	"io"
	"os"
)

// trySendFile has no sendfile with an offset on this system.
func trySendFile(io.ReaderFrom, *os.File, int64, int64) (sent int64, err error, ok bool) {
	return 0, nil, false
}
