package poll

import "syscall"

// AwaitBreak waits until the peer of c, a socket of package net, takes nothing any more, for as long as a Read might wait.
// Without an error that is so. Nobody else may read meanwhile.
func AwaitBreak(c syscall.Conn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(isBroken)
}

// isBroken asks by an epoll of its own, which always reports that a socket is broken, and nothing else here.
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
