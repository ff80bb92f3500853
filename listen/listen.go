// Package listen makes TCP listeners with options of the socket that package net has no names for: several
// processes, or several listeners of one, on the same port, and connections that are accepted when there is
// something to read.
package listen

import (
	"context"
	"net"
	"os"
	"syscall"
)

// TCP says how to listen. The zero value listens as net.Listen does.
type TCP struct {
	// ReusePort lets other sockets, of this process and of others of the same user, listen on the same address
	// if they say so too. The system spreads connections over them. NewListener fails with errors.ErrUnsupported
	// where there is no such thing.
	ReusePort bool

	// DeferAccept has the system accept a connection when its first bytes have come, or after about a second
	// without. It is of no effect on systems other than Linux.
	DeferAccept bool

	// FastOpen lets clients send their first bytes with the SYN (RFC 7413). Such bytes may arrive twice, as RFC 7413
	// §6 says. It is of no effect on systems other than Linux, and where the administrator has not allowed it.
	FastOpen bool

	// Backlog is how many connections the system keeps until they are accepted. It is at most what the system
	// allows; 0 is just that. It is of no effect on Windows.
	Backlog int
}

// NewListener listens on addr. The network is "tcp", "tcp4" or "tcp6". It may be called concurrently, and many times.
func (c *TCP) NewListener(network, addr string) (net.Listener, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, &net.OpError{Op: "listen", Net: network, Err: net.UnknownNetworkError(network)}
	}
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return control(raw, c.setOptions)
	}}
	ln, err := config.Listen(context.Background(), network, addr)
	if err != nil || c.Backlog <= 0 {
		return ln, err
	}
	if err := c.setBacklog(ln.(*net.TCPListener)); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

// setOptions is called before the socket has its address.
func (c *TCP) setOptions(fd uintptr) error {
	if c.ReusePort {
		if err := reusePort(fd); err != nil {
			return os.NewSyscallError("setsockopt SO_REUSEPORT", err)
		}
	}
	if c.DeferAccept {
		if err := deferAccept(fd); err != nil {
			return os.NewSyscallError("setsockopt TCP_DEFER_ACCEPT", err)
		}
	}
	if c.FastOpen {
		if err := fastOpen(fd); err != nil {
			return os.NewSyscallError("setsockopt TCP_FASTOPEN", err)
		}
	}
	return nil
}

// setBacklog listens once more: package net has listened with as much as the system allows.
func (c *TCP) setBacklog(ln *net.TCPListener) error {
	raw, err := ln.SyscallConn()
	if err != nil {
		return err
	}
	return control(raw, func(fd uintptr) error { return os.NewSyscallError("listen", listen(fd, c.Backlog)) })
}

// control calls f with the descriptor.
func control(raw syscall.RawConn, f func(fd uintptr) error) error {
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(fd) }); err != nil {
		return err
	}
	return failed
}
