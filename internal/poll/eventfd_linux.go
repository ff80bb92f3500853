package poll

import (
	"encoding/binary"
	"syscall"
)

// eventfd returns a descriptor that becomes readable when a number is written to it.
func eventfd() (int, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// ringBell adds one to an eventfd. Each addition is an event for edge-triggered watchers, so nothing has to read it.
func ringBell(fd int) {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = syscall.Write(fd, one[:])
}
