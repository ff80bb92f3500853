package raw

import (
	"syscall"
	"time"
	"unsafe"
)

// The memory that these functions pass to the kernel lives until the call returns. Raw system calls do not tell the scheduler,
// so they are only for calls that do not block.

// read reads from a descriptor that does not block.
func read(fd int32, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

// write writes to a descriptor that does not block.
func write(fd int32, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

// epollWait waits for events for at most d. limit is memory for the call.
func epollWait(ep int, events []syscall.EpollEvent, d time.Duration, limit *syscall.Timespec) int {
	const epollPwait2 = 441 // on all architectures; epoll_wait only has a resolution of milliseconds
	*limit = syscall.NsecToTimespec(int64(max(d, 0)))
	n, _, errno := syscall.Syscall6(epollPwait2, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(events))),
		uintptr(len(events)), uintptr(unsafe.Pointer(limit)), 0, 0)
	if errno == syscall.ENOSYS { // before Linux 5.11
		m, _ := syscall.EpollWait(ep, events, int((d+time.Millisecond-1)/time.Millisecond))
		return max(m, 0)
	}
	if errno != 0 {
		return 0
	}
	return int(n)
}
