//go:build !linux

package filetree

import "os"

// opensWithoutWaiting reports that opening a pipe may wait for its writer. A file must therefore not be opened before it
// is known what it is.
const opensWithoutWaiting = false

// openFlags open a file for reading.
const openFlags = os.O_RDONLY
