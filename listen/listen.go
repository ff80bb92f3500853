// Package listen creates TCP listeners with socket options that package net does not offer. Several processes, or several
// listeners in one process, can share a port. On Linux, the system can hold back connections until their first bytes arrive.
package listen

import (
	"context"
	"net"
	"os"
	"syscall"
)

// TCP configures TCP listeners. With the zero value, Listen behaves like the zero [net.ListenConfig]. Listen may be called
// concurrently and more than once; do not change the fields while Listen runs.
type TCP struct {
	// ReusePort lets several sockets listen on the same address. All listeners on an address must set ReusePort and belong
	// to the same user. The sockets can be in one process or in several. The system distributes connections among the
	// sockets. If the system does not support ReusePort, Listen returns an error that wraps errors.ErrUnsupported.
	ReusePort bool

	// DeferAccept makes the system hold back a connection until the client's first bytes arrive, but for at most about
	// a second. DeferAccept has an effect only on Linux.
	DeferAccept bool

	// FastOpen lets clients send their first bytes with the SYN (RFC 7413). With FastOpen, the server can receive a
	// client's first bytes twice (RFC 7413 §6). FastOpen has an effect only on Linux, and only if the administrator
	// has enabled TCP Fast Open.
	FastOpen bool

	// Backlog is the maximum number of connections that wait to be accepted. If Backlog exceeds the system's own maximum, the
	// system's maximum applies. If Backlog is zero or negative, the system's maximum is used. Backlog has no effect on Windows.
	Backlog int

	// Control is called with the socket after the other options are set and before the socket is bound to its address. If
	// Control returns an error, Listen fails. The network argument is "tcp4" or "tcp6". Control may be nil. See
	// net.ListenConfig.Control.
	Control func(network, address string, c syscall.RawConn) error
}

// Listen returns a listener on the address addr, a host and a port as in net.Listen. The network is "tcp", "tcp4" or
// "tcp6". The ctx argument limits only the lookup of the host name, and has no effect on the returned listener.
func (c *TCP) Listen(ctx context.Context, network, addr string) (net.Listener, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, &net.OpError{Op: "listen", Net: network, Err: net.UnknownNetworkError(network)}
	}
	config := net.ListenConfig{Control: c.prepare}
	ln, err := config.Listen(ctx, network, addr)
	if err != nil || c.Backlog <= 0 {
		return ln, err
	}
	if err := c.setBacklog(ln.(*net.TCPListener)); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

// prepare is called before the socket has its address.
func (c *TCP) prepare(network, address string, raw syscall.RawConn) error {
	err := control(raw, c.setOptions)
	if err == nil && c.Control != nil {
		err = c.Control(network, address, raw)
	}
	return err
}

// setOptions sets the options of the socket fd.
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

// setBacklog calls listen again, because package net has called it with the system's maximum.
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
