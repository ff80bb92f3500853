package poll

import "syscall"

// AwaitBreak blocks until the peer of c, a socket of package net, accepts no more bytes. It respects the read
// deadline of c. A nil error means that the peer is gone. No other goroutine may read from c meanwhile.
func AwaitBreak(c syscall.Conn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(isBroken)
}

// isBroken asks an epoll instance of its own. Epoll always reports broken sockets, and this instance watches for
// nothing else.
func isBroken(fd uintptr) bool {
	ep, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	defer syscall.Close(ep)
	if syscall.EpollCtl(ep, syscall.EPOLL_CTL_ADD, int(fd), &syscall.EpollEvent{}) != nil {
		return false
	}
	var events [1]syscall.EpollEvent
	n, _ := syscall.EpollWait(ep, events[:], 0)
	return n > 0
}
