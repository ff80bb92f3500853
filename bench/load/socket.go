//go:build linux

package load

import (
	"net"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// Resolve converts the address of a server for system calls.
func Resolve(address string) (to syscall.SockaddrInet4, err error) {
	a, err := net.ResolveTCPAddr("tcp4", address)
	if err == nil {
		to = syscall.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())}
	}
	return to, err
}

// sources is the number of loopback addresses that connections use, so that no pair of addresses runs out of ports.
const sources = 32

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

// resetClose closes a connection with a reset.
func resetClose(fd int) {
	syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	syscall.Close(fd)
}

// keepTime makes the kernel wake this thread exactly when it asked to be woken, and not up to 50 µs later. The
// goroutine stays on the thread.
func keepTime() {
	const setTimerSlack = 29
	runtime.LockOSThread()
	syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0)
}

// sleep blocks the thread for d, as exactly as keepTime allows.
func sleep(d time.Duration) {
	limit := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&limit, nil) // a signal may end it early
}

// wait waits for events for at most d.
func wait(ep int, events []syscall.EpollEvent, d time.Duration) int {
	const epollPwait2 = 441 // on all architectures; epoll_wait only has a resolution of milliseconds
	limit := syscall.NsecToTimespec(int64(max(d, 0)))
	// The slice and limit live until the call returns.
	n, _, errno := syscall.Syscall6(epollPwait2, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(events))),
		uintptr(len(events)), uintptr(unsafe.Pointer(&limit)), 0, 0)
	if errno == syscall.ENOSYS { // before Linux 5.11
		m, _ := syscall.EpollWait(ep, events, int((d+time.Millisecond-1)/time.Millisecond))
		return max(m, 0)
	}
	if errno != 0 {
		return 0
	}
	return int(n)
}
