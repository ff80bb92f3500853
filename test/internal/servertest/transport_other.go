//go:build !linux

package servertest

import "github.com/gallop-http/gallop"

// Transports are the transports of this platform.
var Transports = []Transport{Goroutines}

// SetLoops does nothing, because this platform has no event loops.
func SetLoops(*gallop.Server, int) {}
