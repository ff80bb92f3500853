package listen

import "syscall"

// reusePort sets SO_REUSEADDR, which lets sockets share an address on Windows. Sockets of other users may share it, too, and it
// is undefined which socket gets a connection.
func reusePort(fd uintptr) error {
	return syscall.SetsockoptInt(syscall.Handle(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
}

func deferAccept(uintptr) error { return nil }

func fastOpen(uintptr) error { return nil }

func listen(uintptr, int) error { return nil }
