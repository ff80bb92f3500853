//go:build race || 386 || s390x

package poll

import "syscall"

func writeBoth(fd int, a, b []byte) (int, error) {
	n, err := Write(fd, a)
	if n < len(a) {
		return n, err
	}
	m, err := Write(fd, b)
	return n + m, err
}

func pollNow(ep int, events []syscall.EpollEvent) (int, error) {
	return syscall.EpollWait(ep, events, 0)
}
