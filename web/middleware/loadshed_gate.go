package middleware

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// gate counts the requests in progress.
type gate struct {
	inProgress atomic.Int64
	limit      atomic.Int64

	mu    sync.Mutex
	adapt *gradient // nil if the limit is fixed; guarded by mu
}

// enter counts a request, unless there are too many.
func (g *gate) enter(p Priority) bool {
	limit := g.limit.Load()
	switch p {
	case Critical:
		limit = math.MaxInt64
	case Sheddable:
		limit -= limit / 5
	}
	if g.inProgress.Add(1) <= limit {
		return true
	}
	g.inProgress.Add(-1)
	return false
}

// measured adapts the limit to the time that a handler took.
func (g *gate) measured(took time.Duration) {
	if g.adapt == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.adapt.add(float64(took), float64(g.inProgress.Load())) {
		g.limit.Store(int64(g.adapt.limit))
	}
}

// gradient adapts a limit to response times. It compares the average of the last few requests with the response time of an unloaded
// system. If requests take much longer, a queue is growing somewhere, and the limit shrinks. Otherwise, the limit grows by its square
// root, but only while it is used.
//
// An unloaded system cannot be observed under load. So from time to time, gradient halves the limit for a moment, and measures then.
type gradient struct {
	limit, min, max float64
	base            float64 // the response time of the unloaded system, or 0
	sum             float64 // the response times of this sample
	n               int     // the requests in this sample
	busiest         float64 // the most requests in progress during this sample
	samples         int     // since the base was last measured
	before          float64 // the limit before it was halved, or 0
}

const (
	gradientSample = 16  // requests in a sample
	gradientProbe  = 200 // samples from one measurement of the base to the next
	gradientDrain  = 2   // samples after halving the limit until old requests are gone
	gradientSlack  = 1.5 // how much longer than the base requests may take before the limit shrinks
	gradientStep   = 0.2 // the weight of new values
)

// add adds a response time and reports whether the limit has changed.
func (a *gradient) add(took, inProgress float64) (changed bool) {
	a.sum, a.n, a.busiest = a.sum+took, a.n+1, max(a.busiest, inProgress)
	if a.n < gradientSample {
		return false
	}
	short, busiest := max(a.sum/float64(a.n), 1), a.busiest
	a.sum, a.n, a.busiest = 0, 0, 0
	if a.samples++; a.base == 0 || short < a.base {
		a.base = short
	}
	if a.before > 0 {
		return a.measure(short)
	}
	if busiest < a.limit/2 {
		a.base += (short - a.base) * gradientStep
		a.samples = 0
		return false
	}
	if a.samples >= gradientProbe {
		a.before, a.samples = a.limit, 0
		a.limit = max(a.limit/2, a.min)
		return true
	}
	a.step(short)
	return true
}

// measure takes a sample of the halved limit as the new base, as soon as the sample contains no old requests.
func (a *gradient) measure(short float64) (changed bool) {
	if a.samples <= gradientDrain {
		return false
	}
	a.base, a.limit = short, a.before
	a.before, a.samples = 0, 0
	return true
}

// step adapts the limit to a sample.
func (a *gradient) step(short float64) {
	slope := min(max(gradientSlack*a.base/short, 0.5), 1)
	next := a.limit*slope + math.Sqrt(a.limit)
	a.limit = min(max(a.limit+(next-a.limit)*gradientStep, a.min), a.max)
}
