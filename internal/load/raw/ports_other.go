//go:build !linux

package raw

// ephemeralPorts returns 0, because the number of ports is only known on Linux.
func ephemeralPorts() int { return 0 }
