package dial

import (
	"net"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// UnixPath returns the path in "unix:" and a path, and true. It returns any other addr unchanged, and false. "unix:80"
// is a port of the host unix.
func UnixPath(addr string) (path string, ok bool) {
	path, ok = strings.CutPrefix(addr, "unix:")
	if _, isPort := ascii.ParseUint(path); ok && isPort {
		return addr, false
	}
	return path, ok
}

// SplitAddr splits host:port. Neither part may be empty.
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
