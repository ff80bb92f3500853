package dial

import (
	"errors"
	"net"
)

// Errors of addresses.
var (
	ErrAddr      error = &net.AddrError{Err: "not a host:port, with a port from 1 to 65535 and IPv6 addresses in brackets"}
	ErrNoAddress error = &net.AddrError{Err: "the name has no address that can be dialed with these settings"}
	ErrIPv4Only  error = &net.AddrError{Err: "no IPv4 address; to dial IPv6, use DialDualStack"}
)

// Errors of proxies.
var (
	ErrProxyScheme      = errors.New("the scheme of a proxy must be http, https, socks5 or socks5h")
	ErrProxyURL         = errors.New("the URL of a proxy is malformed")
	ErrProxyTarget      = errors.New("the address is not a host:port that a proxy can connect to")
	ErrProxyCredentials = errors.New("the credentials for the proxy are too long or contain a character that is not allowed")
	ErrProxyRejects     = errors.New("credentials are missing or wrong")
	ErrSocksReply       = errors.New("does not speak SOCKS 5 (RFC 1928)")
)
