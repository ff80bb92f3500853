//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package listen

import "syscall"

func reusePort(fd uintptr) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEPORT, 1)
}

func deferAccept(uintptr) error { return nil }

func fastOpen(uintptr) error { return nil }

func listen(fd uintptr, backlog int) error { return syscall.Listen(int(fd), backlog) }
