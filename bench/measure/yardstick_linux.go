package measure

import (
	"hash/crc32"
	"runtime"
	"syscall"
	"time"
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
	return &Yardstick{pair, make([]byte, 1<<20)}, nil
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

// threadTime is the processor time of the calling thread.
func threadTime() (time.Duration, error) {
	const thisThread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	err := syscall.Getrusage(thisThread, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
