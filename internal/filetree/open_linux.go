package filetree

import (
	"os"
	"syscall"
)

// opensWithoutWaiting reports that opening a pipe with openFlags returns at once. A file can therefore be opened before
// it is known what it is.
const opensWithoutWaiting = true

// openFlags open a file for reading. Regular files and directories ignore O_NONBLOCK.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK
