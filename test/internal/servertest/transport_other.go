//go:build !linux

package servertest

// Transports are the transports of this platform.
var Transports = []Transport{Goroutines}
