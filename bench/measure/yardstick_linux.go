package measure

import (
	"hash/crc32"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Yardstick is a fixed piece of work that resembles a server's: it sends bytes through a socket and reads memory. Its
// CPU time shows whether the machine has become slower, as opposed to the server. Create one with [NewYardstick].
type Yardstick struct {
	pair [2]int
	data []byte
}

// NewYardstick creates a yardstick.
func NewYardstick() (*Yardstick, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i) // memory that was never written may not be allocated
	}
	return &Yardstick{pair, data}, nil
}

// Close closes the yardstick's two descriptors.
func (y *Yardstick) Close() {
	syscall.Close(y.pair[0])
	syscall.Close(y.pair[1])
}

// Take does the work, which takes about a millisecond, and returns its CPU time. It is not safe for concurrent use.
func (y *Yardstick) Take() (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := threadTime()
	if err != nil {
		return 0, err
	}
	const exchanges = 256
	var sum uint32
	for i := range exchanges {
		piece := y.data[i*len(y.data)/exchanges:][:512]
		if _, err := syscall.Write(y.pair[0], piece); err != nil {
			return 0, err
		}
		if _, err := syscall.Read(y.pair[1], piece); err != nil {
			return 0, err
		}
	}
	for i := 0; i < len(y.data); i += 64 {
		sum = crc32.Update(sum, crc32.IEEETable, y.data[i:i+8])
	}
	y.data[0] = byte(sum)
	after, err := threadTime()
	return after - before, err
}

// threadTime returns the CPU time of the calling thread in nanoseconds; getrusage has only microseconds.
func threadTime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err
}
