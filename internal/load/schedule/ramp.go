package schedule

import (
	"math"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// piece is a part of a ramp in which the rate, in iterations per second, moves in a straight line.
type piece struct {
	begin, length float64 // seconds
	from, to      float64 // iterations per second
	before        float64 // integral of the rate from the start of the ramp to begin
}

// area returns the integral over the piece.
func (p *piece) area() float64 { return p.length * (p.from + p.to) / 2 }

// ramp is a rate that consists of straight lines.
type ramp struct {
	pieces  []piece
	total   float64 // the whole integral
	end     float64 // seconds
	fromOne bool    // iterations start at the integrals 1, 2, 3 and so on, not 0, 1, 2
}

// newRamp returns the rate of a load with an open loop.
func newRamp(l *script.Load) *ramp {
	r := &ramp{}
	if l.Executor == script.ConstantArrivalRate {
		r.add(l.Duration, l.Rate, l.Rate)
		return r
	}
	r.fromOne = true
	from := l.Rate
	for _, s := range l.Stages {
		r.add(s.Duration, from, s.Target)
		from = s.Target
	}
	return r
}

func (r *ramp) add(length time.Duration, from, to float64) {
	if length <= 0 {
		return
	}
	p := piece{begin: r.end, length: length.Seconds(), from: from, to: to, before: r.total}
	r.pieces = append(r.pieces, p)
	r.total += p.area()
	r.end += p.length
}

// integral returns the integral of the rate from 0 to t seconds.
func (r *ramp) integral(t float64) float64 {
	for i := range r.pieces {
		p := &r.pieces[i]
		if x := t - p.begin; x < p.length {
			x = max(x, 0)
			return p.before + x*(p.from+(p.to-p.from)/p.length*x/2)
		}
	}
	return r.total
}

// when returns the first time, in seconds, at which the integral is area. at is the piece where the search begins.
// The result next is where the search for a larger area begins.
func (r *ramp) when(area float64, at int) (t float64, next int) {
	for ; at < len(r.pieces); at++ {
		p := &r.pieces[at]
		rest := max(area-p.before, 0)
		if rest > p.area() && at < len(r.pieces)-1 {
			continue
		}
		if rest == 0 {
			return p.begin, at
		}
		// The integral over x seconds is from·x + slope·x²/2. This form of the solution subtracts no similar numbers.
		slope := (p.to - p.from) / p.length
		x := 2 * rest / (p.from + math.Sqrt(max(p.from*p.from+2*rest*slope, 0)))
		return p.begin + min(x, p.length), at
	}
	return r.end, at
}
