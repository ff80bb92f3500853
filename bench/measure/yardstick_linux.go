package measure

import (
	"hash/crc32"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Yardstick is a piece of work that is always the same: octets through a socket, and memory read, somewhat as a server
// does it. The processor time it takes tells a machine that slows down from a server that does. It is made by
// [NewYardstick].
type Yardstick struct {
	pair [2]int
	data []byte
}

// NewYardstick makes a yardstick.
func NewYardstick() (*Yardstick, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i) // memory that was never written need not be there
	}
	return &Yardstick{pair, data}, nil
}

// Close gives the yardstick's two descriptors back.
func (y *Yardstick) Close() {
	syscall.Close(y.pair[0])
	syscall.Close(y.pair[1])
}

// Take does the work, a millisecond or so, and returns the processor time that it took. It is not for concurrent use.
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

// threadTime is the processor time of the calling thread, to the nanosecond, which getrusage does not say.
func threadTime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err
}
