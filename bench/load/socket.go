//go:build linux

package load

import (
	"net"
	"syscall"
)

// Resolve converts the address of a server for system calls.
func Resolve(address string) (to syscall.SockaddrInet4, err error) {
	a, err := net.ResolveTCPAddr("tcp4", address)
	if err == nil {
		to = syscall.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())}
	}
	return to, err
}

// Connect opens the nth connection. On the loopback device it does not wait, unless the listener's queue is full.
func Connect(to *syscall.SockaddrInet4, nth int) (fd int, err error) {
	if fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if to.Addr[0] == 127 {
		const bindAddressNoPort = 24
		syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, bindAddressNoPort, 1)
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, byte(2 + nth%sources)}})
	}
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	if err == nil {
		err = retry(func() error { return syscall.Connect(fd, to) })
	}
	if err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// retry calls f until it is not interrupted by a signal.
func retry(f func() error) error {
	for {
		if err := f(); err != syscall.EINTR {
			return err
		}
	}
}
