package schedule

import (
	"math/rand/v2"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// Arrivals says when the iterations of an open loop start. Due times are computed one at a time, so a caller that falls behind
// loses neither memory nor time. It is for one goroutine at a time.
//
// An iteration starts whenever the integral of the rate reaches a further whole number. At a constant rate, the first one
// starts at once. On a ramp, it starts when the integral is 1. Random arrivals start when the integral has grown by random
// amounts that are exponentially distributed, with an average of 1.
type Arrivals struct {
	ramp    *ramp
	at      int // piece of the next due time
	part    Part
	poisson *rand.Rand // nil: evenly spaced

	area     float64 // integral, multiplied by the factors, at which the next iteration starts
	segments []segment
}

// segment is a time during which the factor of the rate does not change. It ends where the next segment begins.
type segment struct {
	factor float64
	before float64 // integral of the rate from the start of the ramp to the begin of the segment
	area   float64 // the same, multiplied by the factors
}

// slack is how much of an iteration may be missing at the end because of rounding.
const slack = 1e-6

// NewArrivals returns the arrivals of a part of a load with an open loop. The seed decides about random arrivals. Parts
// differ even if they have the same seed.
func NewArrivals(l *script.Load, part Part, seed uint64) *Arrivals {
	a := &Arrivals{ramp: newRamp(l), part: part, segments: []segment{{factor: 1}}}
	a.area = float64(part.Index)
	if l.Executor == script.RampingArrivalRate {
		a.area++
	}
	if l.Poisson {
		a.poisson = rand.New(rand.NewPCG(seed, uint64(part.Index)))
		a.area = 0
		a.step()
	}
	return a
}

// step moves on to the next iteration.
func (a *Arrivals) step() {
	if a.poisson != nil {
		a.area += a.poisson.ExpFloat64() * float64(a.part.count())
		return
	}
	a.area += float64(a.part.count())
}

// Next returns when the next iteration is due, or false if no further one starts at the present rate.
func (a *Arrivals) Next() (due time.Duration, ok bool) {
	a.leaveSegments()
	s := &a.segments[0]
	if s.factor <= 0 {
		return 0, false
	}
	integral := s.before + (a.area-s.area)/s.factor
	if integral > a.last() {
		return 0, false
	}
	t, _ := a.ramp.when(integral, a.at)
	return seconds(t), true
}

// last returns the largest integral at which an iteration may start. If the whole integral is 10, the iterations of a ramp
// start at 1, 2 to 10, and those of a constant rate at 0, 1 to 9.
func (a *Arrivals) last() float64 {
	if a.ramp.fromOne && a.poisson == nil {
		return a.ramp.total + slack
	}
	return a.ramp.total - slack
}

// Advance moves on to the iteration after the next one.
func (a *Arrivals) Advance() {
	a.leaveSegments()
	s := &a.segments[0]
	if s.factor > 0 {
		_, a.at = a.ramp.when(s.before+(a.area-s.area)/s.factor, a.at)
	}
	a.step()
}

// leaveSegments drops the segments in which no further iteration starts.
func (a *Arrivals) leaveSegments() {
	for len(a.segments) > 1 && a.area >= a.segments[1].area {
		a.segments = append(a.segments[:0], a.segments[1:]...)
	}
}

// Scale multiplies the rate by a factor from the given time on. The time must not be before that of an earlier call. A factor
// of 0 stops arrivals, while the time of ramps goes on.
func (a *Arrivals) Scale(at time.Duration, factor float64) {
	last := a.segments[len(a.segments)-1]
	factor = max(factor, 0)
	if factor == last.factor {
		return
	}
	before := a.ramp.integral(at.Seconds())
	area := last.area + (before-last.before)*last.factor
	a.segments = append(a.segments, segment{factor, before, area})
}

func seconds(t float64) time.Duration { return time.Duration(t*1e9 + 0.5) }
