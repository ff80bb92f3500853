//go:build unix && !aix

// Package poll has what is needed below a net.Conn: calls on sockets that do not wait.
// The sockets have to be non-blocking, as those of package net are.
//
// The calls go around what the runtime does for calls that may take long, which costs as
// much again as a short one, and are those of sockets, which go around what the kernel does
// for files. In race builds they do not, since there package syscall tells
// the race detector that what was written before a write happens before what a read sees,
// and not on linux/386, where sockets share one call.
package poll

import "syscall"

// Quiet reports whether nothing has come on a socket: no byte, no end and no error.
func Quiet(fd int) bool {
	for {
		_, err := peek(fd)
		if err != syscall.EINTR {
			return err == syscall.EAGAIN
		}
	}
}

// Read reads into p as recv(2) does. With syscall.EAGAIN there is nothing to read yet;
// no byte and no error is the end.
func Read(fd int, p []byte) (int, error) { return read(fd, p) }

// Write writes of p what the socket takes, as send(2) does. With syscall.EAGAIN that is
// nothing.
func Write(fd int, p []byte) (int, error) { return write(fd, p) }
