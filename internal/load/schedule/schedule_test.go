package schedule

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// all returns the due times of the parts of a load, together.
func all(l *script.Load, parts int, seed uint64) (dues []time.Duration) {
	for i := range parts {
		a := NewArrivals(l, Part{i, parts}, seed)
		for due, ok := a.Next(); ok; due, ok = a.Next() {
			dues = append(dues, due)
			a.Advance()
		}
	}
	slices.Sort(dues)
	return dues
}

func constant(rate float64, length time.Duration) *script.Load {
	return &script.Load{Executor: script.ConstantArrivalRate, Rate: rate, Duration: length}
}

func ramping(start float64, stages ...script.Stage) *script.Load {
	return &script.Load{Executor: script.RampingArrivalRate, Rate: start, Stages: stages}
}

func TestConstantRateIsEvenlySpaced(t *testing.T) {
	for _, rate := range []float64{0.5, 1, 3, 100, 7777, 100_000} {
		for _, parts := range []int{1, 2, 3, 7} {
			dues := all(constant(rate, 10*time.Second), parts, 1)
			if len(dues) != int(rate*10) {
				t.Fatalf("rate %v, %d parts: %d iterations", rate, parts, len(dues))
			}
			for k, due := range dues {
				if want := float64(k) / rate * 1e9; math.Abs(float64(due)-want) > 1 {
					t.Fatalf("rate %v, %d parts: iteration %d is due at %v, not %v", rate, parts, k, due, time.Duration(want))
				}
			}
		}
	}
}

// TestRampsFollowTheIntegral compares ramps with times from the formulas of motion at constant acceleration.
func TestRampsFollowTheIntegral(t *testing.T) {
	s := time.Second
	for _, test := range []struct {
		name  string
		load  *script.Load
		count int
		at    map[int]float64 // seconds, by number of the iteration from 1
	}{
		{"up from zero", ramping(0, script.Stage{Duration: 10 * s, Target: 10}), 50, map[int]float64{1: math.Sqrt(2 * 1), 8: 4, 50: 10}},
		{"down to zero", ramping(10, script.Stage{Duration: 10 * s}), 50, map[int]float64{50: 10, 42: 6}},
		{"level", ramping(5, script.Stage{Duration: 10 * s, Target: 5}), 50, map[int]float64{1: 0.2, 2: 0.4, 50: 10}},
		{"jump", ramping(5, script.Stage{Duration: 2 * s, Target: 5}, script.Stage{Target: 100}, script.Stage{Duration: s, Target: 100}),
			110, map[int]float64{10: 2, 11: 2.01, 110: 3}},
		{"rest in the middle", ramping(10, script.Stage{Duration: s, Target: 10}, script.Stage{}, script.Stage{Duration: 5 * s},
			script.Stage{Target: 10}, script.Stage{Duration: s, Target: 10}), 20, map[int]float64{10: 1, 11: 6.1, 20: 7}},
		{"a part of an iteration", ramping(0, script.Stage{Duration: s, Target: 3}), 1, map[int]float64{1: math.Sqrt(2. / 3)}},
	} {
		for _, parts := range []int{1, 2, 5} {
			dues := all(test.load, parts, 1)
			if len(dues) != test.count {
				t.Errorf("%s, %d parts: %d iterations, the integral is %d", test.name, parts, len(dues), test.count)
				continue
			}
			for k, want := range test.at {
				if got := dues[k-1].Seconds(); math.Abs(got-want) > 1e-6 {
					t.Errorf("%s, %d parts: iteration %d is due at %v s, not %v", test.name, parts, k, got, want)
				}
			}
		}
	}
}

// TestWhenInvertsTheIntegral checks ramps of random shape.
func TestWhenInvertsTheIntegral(t *testing.T) {
	r := newRamp(ramping(3, script.Stage{Duration: time.Second, Target: 50}, script.Stage{Duration: 3 * time.Second, Target: 1},
		script.Stage{Target: 900}, script.Stage{Duration: time.Millisecond, Target: 0}, script.Stage{Duration: time.Hour, Target: 1000}))
	at := 0
	for area := 0.0; area < r.total; area = area*1.01 + 0.25 {
		var when float64
		when, at = r.when(area, at)
		if got := r.integral(when); math.Abs(got-area) > 1e-6*max(area, 1) {
			t.Fatalf("the integral at %v s is %v, not %v", when, got, area)
		}
	}
}

// TestPoisson checks the count, and the average and the standard deviation of the gaps, which are equal.
func TestPoisson(t *testing.T) {
	l := constant(1000, 100*time.Second)
	l.Poisson = true
	for _, parts := range []int{1, 4} {
		dues := all(l, parts, 42)
		if n := float64(len(dues)); math.Abs(n-100_000) > 5*math.Sqrt(100_000) {
			t.Errorf("%d parts: %v iterations instead of 100000", parts, n)
		}
		var sum, squares, alike float64
		for i := 1; i < len(dues); i++ {
			gap := (dues[i] - dues[i-1]).Seconds() * 1000
			sum, squares = sum+gap, squares+gap*gap
			if gap < math.Ln2 {
				alike++
			}
		}
		n := float64(len(dues) - 1)
		mean := sum / n
		if deviation := math.Sqrt(squares/n - mean*mean); math.Abs(mean-1) > 0.02 || math.Abs(deviation-1) > 0.02 || math.Abs(alike/n-0.5) > 0.01 {
			t.Errorf("%d parts: gaps have the mean %v, the deviation %v, and %v of them are below ln 2", parts, mean, deviation, alike/n)
		}
		if slices.Equal(dues, all(l, parts, 43)) || !slices.Equal(dues, all(l, parts, 42)) {
			t.Error("the seed does not decide about the times")
		}
	}
}

func TestScale(t *testing.T) {
	for _, parts := range []int{1, 3} {
		var dues []time.Duration
		for i := range parts {
			a := NewArrivals(constant(100, 10*time.Second), Part{i, parts}, 1)
			// All changes come before the first iteration is taken, as with a caller that has fallen behind.
			a.Scale(2*time.Second, 3)
			a.Scale(4*time.Second, 0)
			a.Scale(6*time.Second, 0.5)
			for due, ok := a.Next(); ok; due, ok = a.Next() {
				dues = append(dues, due)
				a.Advance()
			}
		}
		var counts [10]int
		for _, due := range dues {
			counts[int(due.Seconds()+1e-6)]++
		}
		if want := [10]int{100, 100, 300, 300, 0, 0, 50, 50, 50, 50}; counts != want {
			t.Errorf("%d parts: iterations per second %v, not %v", parts, counts, want)
		}
	}
}

func TestNoArrivalsWhileTheFactorIsZero(t *testing.T) {
	a := NewArrivals(constant(10, 10*time.Second), Part{}, 1)
	a.Scale(0, 0)
	if due, ok := a.Next(); ok {
		t.Fatalf("an iteration is due at %v", due)
	}
	a.Scale(5*time.Second, 1)
	if due, ok := a.Next(); !ok || due != 5*time.Second {
		t.Fatalf("the first iteration is due at %v, %v", due, ok)
	}
}

func TestUsers(t *testing.T) {
	s := time.Second
	l := &script.Load{Executor: script.RampingVUs, VUs: 2, Stages: []script.Stage{
		{Duration: 4 * s, Target: 10}, {Duration: 2 * s, Target: 10}, {Target: 5}, {Duration: 5 * s}, {Duration: s},
	}}
	for _, test := range []struct {
		at   time.Duration
		want int
	}{
		{0, 2}, {s/2 - 1, 2}, {s / 2, 3}, {s, 4}, {4*s - 1, 9}, {4 * s, 10}, {6*s - 1, 10}, {6 * s, 5}, {7*s - 1, 5}, {7 * s, 4}, {10 * s, 1},
		{11*s - 1, 1}, {11 * s, 0}, {12 * s, 0},
	} {
		for _, parts := range []int{1, 2, 3} {
			n := 0
			for i := range parts {
				here, _ := NewUsers(l, Part{i, parts}).At(test.at)
				n += here
			}
			if n != test.want {
				t.Errorf("%d parts: %d users at %v, not %d", parts, n, test.at, test.want)
			}
		}
	}
	if most := NewUsers(l, Part{}).Most(); most != 10 {
		t.Errorf("%d users at most", most)
	}
}

// TestNextChange steps from change to change, and finds each number of users once on the way up and down.
func TestNextChange(t *testing.T) {
	u := NewUsers(&script.Load{Executor: script.RampingVUs, Stages: []script.Stage{{Duration: 7 * time.Second, Target: 100}, {Duration: 3 * time.Second}}}, Part{})
	var seen []int
	for at := time.Duration(0); at < 10*time.Second; {
		n, next := u.At(at)
		if next <= at {
			t.Fatalf("the change after %v is at %v", at, next)
		}
		if before, _ := u.At(next - 1); before != n {
			t.Fatalf("%d users at %v, but %d just before the next change at %v", n, at, before, next)
		}
		seen = append(seen, n)
		at = next
	}
	var want []int
	for n := range 100 {
		want = append(want, n)
	}
	for n := 100; n > 0; n-- {
		want = append(want, n)
	}
	if !slices.Equal(seen, want) {
		t.Errorf("users: %v", seen)
	}
}

func TestConstantUsers(t *testing.T) {
	for _, l := range []*script.Load{
		{Executor: script.ConstantVUs, VUs: 7, Duration: time.Second},
		{Executor: script.SharedIterations, VUs: 7, Duration: time.Second},
		{Executor: script.PerVUIterations, VUs: 7, Duration: time.Second},
	} {
		u := NewUsers(l, Part{1, 2})
		if n, next := u.At(0); n != 3 || next != time.Second {
			t.Errorf("%v: %d users of 7, until %v", l.Executor, n, next)
		}
		if n, _ := u.At(time.Second); n != 0 {
			t.Errorf("%v: %d users after the end", l.Executor, n)
		}
	}
	if n, next := NewUsers(&script.Load{Executor: script.SharedIterations}, Part{}).At(0); n != 1 || next != 10*time.Minute {
		t.Errorf("by default: %d users until %v", n, next)
	}
}

func TestParts(t *testing.T) {
	for n := range int64(20) {
		for count := 1; count < 6; count++ {
			var sum int64
			numbers := map[int]bool{}
			for i := range count {
				p := Part{i, count}
				sum += p.Share(n)
				for k := range int(p.Share(n)) {
					numbers[p.Number(k)] = true
				}
			}
			if sum != n || len(numbers) != int(n) {
				t.Errorf("%d parts of %d have %d items with numbers %s", count, n, sum, fmt.Sprint(numbers))
			}
		}
	}
}

func BenchmarkNext(b *testing.B) {
	a := NewArrivals(ramping(0, script.Stage{Duration: 1000 * time.Hour, Target: 1e6}), Part{}, 1)
	for b.Loop() {
		a.Next()
		a.Advance()
	}
}
