package poll

import (
	"net"
	"net/netip"
	"syscall"
)

// addresses holds the addresses of a connection. A value is never changed, only replaced by one with one more
// address.
type addresses struct {
	remote *net.TCPAddr // from addr and port, after the first call of RemoteAddr
	local  net.Addr     // name of the socket, after the first call of LocalAddr
}

// known returns the addresses that were asked for so far.
func (c *Conn) known() addresses {
	if a := c.asked.Load(); a != nil {
		return *a
	}
	return addresses{}
}

// SyscallConn implements syscall.Conn. Its functions call f at once, even if the socket is not ready.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return rawConn{c}, c.openError() }

type rawConn struct{ c *Conn }

func (r rawConn) Control(f func(uintptr)) error {
	if err := r.c.openError(); err != nil {
		return err
	}
	if !r.c.use() {
		return net.ErrClosed
	}
	defer r.c.done()
	f(uintptr(r.c.fd))
	return nil
}

func (r rawConn) Read(f func(uintptr) bool) error { return r.until(f, readable) }

func (r rawConn) Write(f func(uintptr) bool) error { return r.until(f, writable) }

// until calls f until f returns true: first at once, then whenever c may have become readable (or writable).
func (r rawConn) until(f func(uintptr) bool, bit uint32) error {
	for done := false; ; {
		if err := r.Control(func(fd uintptr) { done = f(fd) }); err != nil || done {
			return err
		}
		if err := r.c.await(bit); err != nil {
			return err
		}
	}
}

// setPeer sets the peer's address. An address without a zone needs 16 bytes, and most have none.
func (c *Conn) setPeer(peer netip.AddrPort) {
	if !peer.IsValid() {
		return
	}
	c.addr, c.port = peer.Addr().As16(), peer.Port()
	if peer.Addr().Zone() != "" {
		c.asked.Store(&addresses{remote: net.TCPAddrFromAddrPort(peer)})
	}
}

// hasPeer reports whether the peer has an address: whether the socket is not a unix one.
func (c *Conn) hasPeer() bool { return c.addr != [16]byte{} }

// Peer returns the client's address. It is invalid for unix sockets.
func (c *Conn) Peer() netip.AddrPort {
	if !c.hasPeer() {
		return netip.AddrPort{}
	}
	if remote := c.known().remote; remote != nil {
		return remote.AddrPort()
	}
	return netip.AddrPortFrom(netip.AddrFrom16(c.addr).Unmap(), c.port)
}

func (c *Conn) network() string {
	if c.hasPeer() {
		return "tcp"
	}
	return "unix"
}

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr {
	if !c.hasPeer() {
		return &net.UnixAddr{Net: "unix", Name: c.peerName()}
	}
	known := c.known()
	if known.remote == nil {
		known.remote = net.TCPAddrFromAddrPort(c.Peer())
		c.asked.Store(&known)
	}
	return known.remote
}

// peerName returns the name that the peer bound its unix socket to. Like package net, it returns "@" if there is no
// name.
func (c *Conn) peerName() string {
	name := "@"
	_ = (rawConn{c}).Control(func(fd uintptr) {
		sa, _ := c.loop.peer(int(fd))
		if u, ok := sa.(*syscall.SockaddrUnix); ok {
			name = u.Name
		}
	})
	return name
}

// LocalAddr implements net.Conn. It asks the system only once.
func (c *Conn) LocalAddr() net.Addr {
	known := c.known()
	if known.local == nil {
		if known.local = c.ownName(); known.local != nil {
			c.asked.Store(&known)
		}
	}
	if known.local != nil {
		return known.local
	}
	if c.hasPeer() {
		return &net.TCPAddr{}
	}
	return &net.UnixAddr{Net: "unix"}
}

// ownName returns the name of the socket, or nil if the socket was closed.
func (c *Conn) ownName() net.Addr {
	var sa syscall.Sockaddr
	if err := (rawConn{c}).Control(func(fd uintptr) { sa, _ = c.loop.name(int(fd)) }); err != nil {
		return nil
	}
	if at := addrPort(sa); at.IsValid() {
		return net.TCPAddrFromAddrPort(at)
	}
	if u, ok := sa.(*syscall.SockaddrUnix); ok {
		return &net.UnixAddr{Net: "unix", Name: u.Name}
	}
	return nil
}

// addrPort returns the address of an IPv4 or IPv6 socket.
func addrPort(sa syscall.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(addr6(sa.Addr, sa.ZoneId), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

// addr6 returns an IPv6 address, or an IPv4 address if it is mapped into IPv6.
func addr6(octets [16]byte, zone uint32) netip.Addr {
	ip := netip.AddrFrom16(octets).Unmap()
	if ip.Is6() && zone != 0 {
		if where, err := net.InterfaceByIndex(int(zone)); err == nil {
			ip = ip.WithZone(where.Name)
		}
	}
	return ip
}
