package dial

import "net"

var (
	ErrAddr      error = &net.AddrError{Err: "not a host:port, with a port from 1 to 65535 and IPv6 addresses in brackets"}
	ErrNoAddress error = &net.AddrError{Err: "the name has no address that can be dialed with these settings"}
	ErrIPv4Only  error = &net.AddrError{Err: "no IPv4 address; to dial IPv6, use DialDualStack"}
)
