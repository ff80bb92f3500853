//go:build unix

package prefork

import "syscall"

// isListening reports whether fd is a socket that accepts connections.
func isListening(fd int) bool {
	kind, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN)
	return err == nil && kind != 0
}
