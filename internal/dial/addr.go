package dial

import (
	"net"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// UnixPath returns the path of a unix socket, and whether addr is one. Otherwise it returns addr.
func UnixPath(addr string) (path string, ok bool) {
	path, ok = strings.CutPrefix(addr, "unix:")
	if _, isPort := ascii.ParseUint(path); ok && isPort {
		return addr, false
	}
	return path, ok
}

// SplitAddr cuts host:port. Neither part may be missing.
func SplitAddr(addr string) (host string, port uint16, err error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, ErrAddr
	}
	n, ok := ascii.ParseUint(portText)
	if !ok || n == 0 || n > 65535 || host == "" {
		return "", 0, ErrAddr
	}
	return host, uint16(n), nil
}
