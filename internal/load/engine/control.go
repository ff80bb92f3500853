package engine

import (
	"math"
	"sync/atomic"
)

// Control lets somebody influence a run: pause it, change its rate and cut its periods. Engines read it at least every 20 ms.
type Control struct {
	paused atomic.Bool
	factor atomic.Uint64 // of the rate, as the bits of a float64; 0: 1
	used   atomic.Bool
	cuts   atomic.Uint64
}

// Pause stops new requests, or allows them again.
func (c *Control) Pause(paused bool) {
	c.used.Store(true)
	c.paused.Store(paused)
}

// Paused reports whether no new requests may start. A nil Control never pauses.
func (c *Control) Paused() bool { return c != nil && c.paused.Load() }

// Scale multiplies the rates of open loops by factor, relative to the plan.
func (c *Control) Scale(factor float64) {
	c.used.Store(true)
	c.factor.Store(math.Float64bits(factor))
}

// Factor returns the factor of the rates, 1 by default.
func (c *Control) Factor() float64 {
	if c == nil {
		return 1
	}
	if bits := c.factor.Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	return 1
}

// Cut makes each thread of the engine raw end its period now instead of after a second, so that a caller can count what happened between
// two moments. It returns the number of the cut. The first period of a thread whose Cut is at least that is the last one from before.
func (c *Control) Cut() uint64 { return c.cuts.Add(1) }

// Cuts returns how often Cut was called.
func (c *Control) Cuts() uint64 {
	if c == nil {
		return 0
	}
	return c.cuts.Load()
}

// Used reports whether somebody has influenced the run.
func (c *Control) Used() bool { return c != nil && c.used.Load() }
