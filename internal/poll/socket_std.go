//go:build unix && !aix && (race || 386 || s390x || !linux)

package poll

import "syscall"

func peek(fd int) (int, error) {
	var one [1]byte
	n, _, err := syscall.Recvfrom(fd, one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return n, err
}

func read(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }

func write(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }
