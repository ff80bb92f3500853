//go:build unix && !aix && (race || 386 || s390x || !linux)

package poll

import "syscall"

func peek(fd int) (int, error) {
	var one [1]byte
	n, _, err := syscall.Recvfrom(fd, one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return n, err
}

func read(fd int, p []byte) (int, error) { return repeat(syscall.Read, fd, p) }

func write(fd int, p []byte) (int, error) { return repeat(syscall.Write, fd, p) }

// repeat makes a call until it is not interrupted by a signal.
func repeat(call func(int, []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
