package poll

import (
	"math"
	"sync/atomic"
)

// gate counts users until it is shut. After that nobody enters, and the last user to leave is told so. The zero value
// is open.
type gate struct{ n atomic.Int32 }

// over is added to the count when the gate is shut.
const over = math.MinInt32

// enter counts a user. It reports false if the gate is shut.
func (g *gate) enter() bool {
	for {
		n := g.n.Load()
		if n < 0 {
			return false
		}
		if g.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave ends an enter. It reports whether this was the last user after a shut that returned false.
func (g *gate) leave() (last bool) { return g.n.Add(-1) == over }

// shut shuts the gate and reports whether it has no users. It must be called only once.
func (g *gate) shut() (empty bool) { return g.n.Add(over) == over }

// shutEmpty shuts the gate if it has no users, and reports whether it did.
func (g *gate) shutEmpty() bool { return g.n.CompareAndSwap(0, over) }
