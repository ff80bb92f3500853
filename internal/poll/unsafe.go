//go:build linux && !race && !386 && !s390x

package poll

import (
	"net/netip"
	"syscall"
	"time"
	"unsafe"
)

func peek(fd int) (int, error) {
	var one [1]byte
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&one)), 1,
		syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
	return result(n, errno)
}

func read(fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
			syscall.MSG_DONTWAIT, 0, 0)
		if errno == 0 {
			return int(n), nil
		}
		if errno != syscall.EINTR {
			return 0, errno
		}
	}
}

func write(fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
			syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			return int(n), nil
		}
		if errno != syscall.EINTR {
			return 0, errno
		}
	}
}

func writeBoth(fd int, a, b []byte, more bool) (int, error) {
	vec := [2]syscall.Iovec{{Base: unsafe.SliceData(a)}, {Base: unsafe.SliceData(b)}}
	vec[0].SetLen(len(a))
	vec[1].SetLen(len(b))
	msg := syscall.Msghdr{Iov: &vec[0], Iovlen: 2}
	n, _, errno := syscall.RawSyscall(syscall.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), uintptr(sendFlags(more)))
	return result(n, errno)
}

// sendFlags returns flags for a write that does not wait. If more bytes follow at once, the system may hold back
// those that do not fill a packet.
func sendFlags(more bool) int {
	const msgMore = 0x8000
	flags := syscall.MSG_DONTWAIT | syscall.MSG_NOSIGNAL
	if more {
		flags |= msgMore
	}
	return flags
}

// accept4 accepts a connection from a non-blocking listener.
func accept4(fd int) (int, netip.AddrPort, error) {
	var from syscall.RawSockaddrAny
	size := uint32(syscall.SizeofSockaddrAny)
	n, _, errno := syscall.RawSyscall6(syscall.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&from)), uintptr(unsafe.Pointer(&size)),
		syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, netip.AddrPort{}, errno
	}
	return int(n), rawAddrPort(&from), nil
}

// rawAddrPort returns the address of an IPv4 or IPv6 socket.
func rawAddrPort(a *syscall.RawSockaddrAny) netip.AddrPort {
	switch a.Addr.Family {
	case syscall.AF_INET:
		in := (*syscall.RawSockaddrInet4)(unsafe.Pointer(a))
		return netip.AddrPortFrom(netip.AddrFrom4(in.Addr), hostOrder(&in.Port))
	case syscall.AF_INET6:
		in := (*syscall.RawSockaddrInet6)(unsafe.Pointer(a))
		return netip.AddrPortFrom(addr6(in.Addr, in.Scope_id), hostOrder(&in.Port))
	}
	return netip.AddrPort{}
}

// hostOrder converts a port from network byte order.
func hostOrder(port *uint16) uint16 {
	p := (*[2]byte)(unsafe.Pointer(port))
	return uint16(p[0])<<8 | uint16(p[1])
}

// pollNow returns the events that are there, without waiting.
func pollNow(ep int, events []syscall.EpollEvent) (int, error) {
	return pollFor(ep, events, 0)
}

// pollFor waits for events for as many milliseconds, or forever if that is negative. It does not tell the scheduler, which would
// take the processor away after some 20 µs and wake its monitor at the end of the wait. That costs more than the wait. Signals end
// the wait, and the scheduler sends one when it has to stop all goroutines.
func pollFor(ep int, events []syscall.EpollEvent, timeout int) (int, error) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(events))),
		uintptr(len(events)), uintptr(timeout), 0, 0)
	return result(n, errno)
}

// newTicker returns a timer descriptor, or -1 if the system has none.
func newTicker() int {
	const monotonic = 1
	fd, _, errno := syscall.RawSyscall(syscall.SYS_TIMERFD_CREATE, monotonic, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return -1
	}
	return int(fd)
}

// setTicker makes a ticker tick every d, or stops it if d is 0. Each tick is an event for edge-triggered watchers, so
// nothing has to read it.
func setTicker(fd int, d time.Duration) {
	each := syscall.NsecToTimespec(int64(d))
	spec := [2]syscall.Timespec{each, each}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, uintptr(fd), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

func result(n uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
