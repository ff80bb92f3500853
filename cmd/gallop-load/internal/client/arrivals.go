package client

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// arrivals computes when the iterations of an open loop are due. The number of iterations that are due until a moment is the
// integral of the rate. An iteration is due whenever the integral has grown by one or, with random arrivals, by an exponentially
// distributed number, which makes them a Poisson process.
type arrivals struct {
	parts  []part
	sum    float64 // how far the integral has grown
	random *rand.Rand
}

// part is a stretch of time in which the rate changes evenly.
type part struct {
	start, length float64 // in seconds
	from, to      float64 // rates per second
	before        float64 // the integral at its start
}

func (p *part) area() float64 { return (p.from + p.to) / 2 * p.length }

func newArrivals(l *script.Load, seed uint64) *arrivals {
	a := &arrivals{}
	if l.Poisson {
		a.random = rand.New(rand.NewPCG(seed, 0x6f70656e))
	}
	if l.Executor == script.ConstantArrivalRate {
		a.add(l.Rate, l.Rate, l.Duration)
		return a
	}
	rate := l.Rate
	for _, s := range l.Stages {
		a.add(rate, s.Target, s.Duration)
		rate = s.Target
	}
	return a
}

func (a *arrivals) add(from, to float64, length time.Duration) {
	p := part{from: from, to: to, length: length.Seconds()}
	if n := len(a.parts); n > 0 {
		last := &a.parts[n-1]
		p.start, p.before = last.start+last.length, last.before+last.area()
	}
	a.parts = append(a.parts, p)
}

// next returns when the next iteration is due, counted from the start of the scenario, or false if none is due any more. A factor
// other than 1 multiplies the rate. Nothing is due before notBefore: a pause drops what was due in it.
func (a *arrivals) next(factor float64, notBefore time.Duration) (time.Duration, bool) {
	if passed := a.integral(notBefore.Seconds()); passed > a.sum {
		a.sum = passed
	}
	for len(a.parts) > 0 {
		p := &a.parts[0]
		if rest := a.sum - p.before; rest < p.area() {
			due := time.Duration((p.start + p.reach(rest)) * float64(time.Second))
			a.sum += a.step() / max(factor, 1e-6)
			return due, true
		}
		a.parts = a.parts[1:]
	}
	return 0, false
}

func (a *arrivals) step() float64 {
	if a.random == nil {
		return 1
	}
	return a.random.ExpFloat64()
}

// reach returns how long after the start of the part its integral is n.
func (p *part) reach(n float64) float64 {
	slope := (p.to - p.from) / p.length
	if math.Abs(slope) < 1e-9 {
		return n / p.from
	}
	return max(2*n/(p.from+math.Sqrt(max(p.from*p.from+2*slope*n, 0))), 0)
}

// integral returns how many iterations are due until a moment.
func (a *arrivals) integral(t float64) float64 {
	if t <= 0 {
		return 0
	}
	sum := 0.0
	for _, p := range a.parts {
		if t < p.start {
			break
		}
		x := min(t-p.start, p.length)
		sum = p.before
		if p.length > 0 {
			sum += p.from*x + (p.to-p.from)/p.length*x*x/2
		}
	}
	return sum
}
