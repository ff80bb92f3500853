package listen

import (
	"runtime"
	"strings"
	"syscall"
)

// tcpFastOpen is TCP_FASTOPEN. fastOpenQueue is the maximum number of connections that have sent data but no ACK yet.
const (
	tcpFastOpen   = 0x17
	fastOpenQueue = 1024
)

// soReusePort is SO_REUSEPORT, for which package syscall has no name on all of Linux.
func soReusePort() int {
	if strings.HasPrefix(runtime.GOARCH, "mips") {
		return 0x200
	}
	return 0xf
}

func reusePort(fd uintptr) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort(), 1)
}

func deferAccept(fd uintptr) error {
	return syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, 1)
}

func fastOpen(fd uintptr) error {
	return syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpFastOpen, fastOpenQueue)
}

func listen(fd uintptr, backlog int) error { return syscall.Listen(int(fd), backlog) }
