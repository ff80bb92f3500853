//go:build race || 386 || s390x

package poll

import (
	"net/netip"
	"syscall"
	"time"
)

// writeBoth ignores more, because package syscall has no call with that flag.
func writeBoth(fd int, a, b []byte, _ bool) (int, error) {
	n, err := Write(fd, a)
	if n < len(a) {
		return n, err
	}
	m, err := Write(fd, b)
	return n + m, err
}

func accept4(fd int) (int, netip.AddrPort, error) {
	conn, peer, err := syscall.Accept4(fd, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
	return conn, addrPort(peer), err
}

func pollNow(ep int, events []syscall.EpollEvent) (int, error) {
	return pollFor(ep, events, 0)
}

func pollFor(ep int, events []syscall.EpollEvent, timeout int) (int, error) {
	n, err := syscall.EpollWait(ep, events, timeout)
	return max(n, 0), err
}

// newTicker returns -1, because package syscall has no call that creates a ticker.
func newTicker() int { return -1 }

func setTicker(int, time.Duration) {}
