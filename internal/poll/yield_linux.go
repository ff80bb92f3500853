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
	y.mu.Lock() // not TryLock: a caller that went on would keep the runtime from polling
	defer y.mu.Unlock()
	if y.queue == nil && !y.open() {
		runtime.Gosched()
		return
	}
	y.rung = false
	_ = y.queue.Read(y.ring)
}

// theYielder is what calls of Yield share.
var theYielder yielder

// yielder makes the runtime poll the network: it waits for an event that only the poll finds.
type yielder struct {
	mu    sync.Mutex
	bell  int // an eventfd
	queue syscall.RawConn
	ring  func(uintptr) bool // rings the bell, and returns true in the next call
	rung  bool
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
