package poll

import (
	"math"
	"sync/atomic"
)

// gate counts those who are at something, until it is shut: then nobody begins any more,
// and the last one who leaves is told. The zero value is open.
type gate struct{ n atomic.Int32 }

// over is added to the number when the gate is shut.
const over = math.MinInt32

// enter reports false if the gate is shut.
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

// leave is the end of an enter, and reports whether it was the last one, behind a shut that
// reported false.
func (g *gate) leave() (last bool) { return g.n.Add(-1) == over }

// shut shuts the gate, once, and reports whether nobody is at it.
func (g *gate) shut() (empty bool) { return g.n.Add(over) == over }

// shutEmpty shuts the gate if nobody is at it.
func (g *gate) shutEmpty() bool { return g.n.CompareAndSwap(0, over) }
