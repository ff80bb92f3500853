package poll

import (
	"os"
	"runtime"
	"sync"
	"syscall"
)

// Yield lets other goroutines run, including those whose sockets have become ready. After runtime.Gosched, a processor only runs
// goroutines of which the runtime knows that they can run. While there is always one, such as the caller, the runtime polls the network
// only every 10 ms.
func Yield() {
	y := &theYielder
	if !y.mu.TryLock() { // another call polls, or has just polled, and the ones that have waited for it are about to run
		runtime.Gosched()
		y.mu.RLock()
		defer y.mu.RUnlock()
		return
	}
	defer y.mu.Unlock()
	if y.queue == nil && !y.open() {
		runtime.Gosched()
		return
	}
	y.polls++
	y.rung = false
	_ = y.queue.Read(y.ring)
}

// theYielder is what calls of Yield share.
var theYielder yielder

// yielder makes the runtime poll the network: it waits for an event that only the poll finds. Goroutines that yield at the same time wait
// for the same poll, so that thousands do not wait for thousands of polls.
type yielder struct {
	mu    sync.RWMutex // locked during a poll; not a sync.Cond, which may not be shared by the bubbles of package synctest
	bell  int          // an eventfd
	queue syscall.RawConn
	ring  func(uintptr) bool // rings the bell, and returns true in the next call
	rung  bool
	polls uint64 // so far
}

// open opens the bell. It fails if there are too many open files.
func (y *yielder) open() bool {
	bell, err := eventfd()
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(bell), "eventfd")
	queue, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return false
	}
	y.bell, y.queue = bell, queue
	y.ring = func(uintptr) bool {
		if y.rung {
			return true
		}
		y.rung = true
		ringBell(y.bell)
		return false
	}
	return true
}
