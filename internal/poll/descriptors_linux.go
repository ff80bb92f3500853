package poll

import (
	"math/bits"
	"sync/atomic"
	"syscall"
)

// The kernel has a table of a process's descriptors, which doubles when it is full. If a process has several threads, the thread that
// opens the next descriptor then waits until no processor uses the old table any more (synchronize_rcu). That takes about ten
// milliseconds, in which a loop would serve no connection. So another goroutine makes the table grow before it is full. Meanwhile,
// loops use the free part of the old table.

const (
	leastTable = 256 // the size after the first growth
	leastSpare = 128 // so many free descriptors are enough for a burst of new connections
)

// descriptors is the size that the table has or is about to get. It is 0 until the first connection.
var descriptors atomic.Int64

// reserve makes room for descriptors above fd, which was just opened.
func reserve(fd int) {
	size := descriptors.Load()
	if int64(fd) < size-max(size/4, leastSpare) {
		return
	}
	next := max(int64(1)<<bits.Len64(uint64(fd)+leastSpare), leastTable)
	if next-max(next/4, leastSpare) <= int64(fd) {
		next *= 2
	}
	if next > size && descriptors.CompareAndSwap(size, next) {
		go growTable(next)
	}
}

// growTable makes the table at least this large, or large enough for all descriptors that the process may have.
func growTable(size int64) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return
	}
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return
	}
	// The new descriptor needs the last place.
	high, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, uintptr(min(uint64(size), limit.Cur)-1))
	if errno == 0 {
		_ = syscall.Close(int(high))
	}
	_ = syscall.Close(fd)
}
