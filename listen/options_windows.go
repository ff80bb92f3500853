package listen

import "syscall"

// reusePort takes what Windows has: SO_REUSEADDR lets sockets share an address there, but those of other users too, and
// which of them gets a connection is not said.
func reusePort(fd uintptr) error {
	return syscall.SetsockoptInt(syscall.Handle(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
}

func deferAccept(uintptr) error { return nil }

func fastOpen(uintptr) error { return nil }

func listen(uintptr, int) error { return nil }
