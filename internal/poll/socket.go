//go:build unix && !aix

// Package poll provides non-blocking I/O below net.Conn: single calls on sockets, and on Linux event loops. A [Group]
// has one [Loop] per processor. A [Worker] leads each loop and serves its connections, whose state is a [Conn]; a
// [Handler] owns the connections. A [Kernel] replaces the operating system in tests. All sockets have to be
// non-blocking, like those of package net.
//
// The calls bypass what the runtime does for long system calls, because that costs as much as a short call itself.
// They are socket calls, so they also bypass what the kernel does for files. There are two exceptions. Race builds
// use package syscall, which tells the race detector that a write happens before the read that sees its bytes. On
// linux/386 all socket operations share one system call, so package syscall is used there, too.
package poll

import "syscall"

// Quiet reports whether nothing has arrived on a socket: no byte, no end of stream and no error.
func Quiet(fd int) bool {
	for {
		_, err := peek(fd)
		if err != syscall.EINTR {
			return err == syscall.EAGAIN
		}
	}
}

// Read reads into p like recv(2). The error is syscall.EAGAIN if there is nothing to read yet. No bytes and no error
// mean the end of the stream.
func Read(fd int, p []byte) (int, error) { return read(fd, p) }

// Write writes the part of p that the socket accepts, like send(2). The error is syscall.EAGAIN if that is nothing.
func Write(fd int, p []byte) (int, error) { return write(fd, p) }
