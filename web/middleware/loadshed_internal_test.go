package middleware

import (
	"math/rand/v2"
	"testing"
)

// queue simulates a system that serves a number of requests at full speed. More requests slow all of them down.
type queue struct {
	capacity float64
	service  float64
	random   *rand.Rand
}

func (q queue) took(inProgress float64) float64 {
	return q.service * max(1, inProgress/q.capacity) * (0.8 + 0.4*q.random.Float64())
}

// Under more load than the system can take, the limit settles where the system is busy and response times stay short. The lower bound
// allows for the moments in which the limit is halved.
func TestGradientSettles(t *testing.T) {
	for _, capacity := range []float64{20, 100, 400} {
		q := queue{capacity, 1e7, rand.New(rand.NewPCG(1, 2))}
		a := gradient{limit: 10, min: 10, max: 10000}
		low, high := a.max, 0.0
		for i := range 40000 {
			a.add(q.took(a.limit), a.limit) // as many requests as are let in
			if i > 20000 {
				low, high = min(low, a.limit), max(high, a.limit)
			}
		}
		if low < 0.7*capacity || high > 4*capacity {
			t.Errorf("capacity %.0f: the limit is between %.0f and %.0f", capacity, low, high)
		}
	}
}

// The limit shrinks when the system becomes slower, and grows again when the system has recovered.
func TestGradientFollows(t *testing.T) {
	q := queue{100, 1e7, rand.New(rand.NewPCG(3, 4))}
	a := gradient{limit: 10, min: 10, max: 1000}
	settle := func(n int) float64 {
		for range n {
			a.add(q.took(a.limit), a.limit)
		}
		return a.limit
	}
	before := settle(20000)
	q.service *= 10 // a disk is slow, for example
	during := settle(1500)
	q.service /= 10
	after := settle(20000)
	if during > before/2 || after < before/2 {
		t.Errorf("limits: %.0f before, %.0f during, %.0f after", before, during, after)
	}
}

// If the system becomes slower forever, the limit first shrinks, and then follows the capacity again.
func TestGradientForgets(t *testing.T) {
	q := queue{100, 1e7, rand.New(rand.NewPCG(5, 6))}
	a := gradient{limit: 10, min: 10, max: 1000}
	for i := range 60000 {
		if i == 20000 {
			q.service *= 3
		}
		a.add(q.took(a.limit), a.limit)
	}
	if a.limit < 70 || a.limit > 400 {
		t.Errorf("the limit is %.0f, want about 100 to 200", a.limit)
	}
}

// The limit does not grow while it is not used, and stays in its bounds.
func TestGradientBounds(t *testing.T) {
	a := gradient{limit: 50, min: 10, max: 60}
	for range 10000 {
		a.add(1e6, 1)
	}
	if a.limit != 50 {
		t.Errorf("idle: the limit went from 50 to %.0f", a.limit)
	}
	for range 10000 {
		a.add(1e6, 1000)
	}
	if a.limit != 60 {
		t.Errorf("busy: the limit is %.0f, want 60", a.limit)
	}
	for i := range 2000 {
		a.add(1e6*float64(i), 1000)
	}
	if a.limit < 10 || a.limit > 30 {
		t.Errorf("slower and slower: the limit is %.0f, want about 10", a.limit)
	}
}
