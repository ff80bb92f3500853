package client

import (
	"math"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// all returns when all iterations are due.
func all(a *arrivals, factor float64) (due []time.Duration) {
	for {
		d, ok := a.next(factor, 0)
		if !ok {
			return due
		}
		due = append(due, d)
	}
}

func TestArrivals(t *testing.T) {
	second := time.Second
	for _, tc := range []struct {
		name   string
		load   script.Load
		factor float64
		want   int           // number of iterations
		middle time.Duration // when half of them were due
	}{
		{"constant", script.Load{Executor: script.ConstantArrivalRate, Rate: 100, Duration: 10 * second}, 1, 1000, 5 * second},
		{"slow", script.Load{Executor: script.ConstantArrivalRate, Rate: 0.5, Duration: 10 * second}, 1, 5, 4 * second},
		{"doubled by hand", script.Load{Executor: script.ConstantArrivalRate, Rate: 100, Duration: 10 * second}, 2, 2000, 5 * second},
		{"ramp", script.Load{Executor: script.RampingArrivalRate, Stages: []script.Stage{{Duration: 10 * second, Target: 200}}}, 1, 1000, 7071 * time.Millisecond},
		{"down", script.Load{Executor: script.RampingArrivalRate, Rate: 200, Stages: []script.Stage{{Duration: 10 * second}}}, 1, 1000, 2929 * time.Millisecond},
		{"jump", script.Load{Executor: script.RampingArrivalRate, Stages: []script.Stage{{Duration: 5 * second}, {Target: 100}, {Duration: 5 * second, Target: 100}}}, 1, 500, 7500 * time.Millisecond},
		{"gap", script.Load{Executor: script.RampingArrivalRate, Rate: 100, Stages: []script.Stage{{Duration: second, Target: 100}, {}, {Duration: 5 * second}, {Target: 100}, {Duration: second, Target: 100}}}, 1, 200, 6 * second},
	} {
		due := all(newArrivals(&tc.load, 1), tc.factor)
		if diff := len(due) - tc.want; diff < -1 || diff > 1 {
			t.Errorf("%s: %d iterations, want %d", tc.name, len(due), tc.want)
			continue
		}
		if m := due[len(due)/2]; (m - tc.middle).Abs() > second/20 {
			t.Errorf("%s: half of them are due by %v, want %v", tc.name, m, tc.middle)
		}
		for i := range due[1:] {
			if due[i] > due[i+1] {
				t.Errorf("%s: iteration %d is due at %v, after the next one at %v", tc.name, i, due[i], due[i+1])
				break
			}
		}
	}
}

// TestPoisson checks the mean and the variance of random arrivals, which are equal for each second.
func TestPoisson(t *testing.T) {
	const seconds, rate = 1000, 50
	counts := make([]float64, seconds)
	for _, d := range all(newArrivals(&script.Load{Executor: script.ConstantArrivalRate, Rate: rate, Duration: seconds * time.Second, Poisson: true}, 7), 1) {
		counts[int(d/time.Second)]++
	}
	mean, variance := 0.0, 0.0
	for _, n := range counts {
		mean += n / seconds
	}
	for _, n := range counts {
		variance += (n - mean) * (n - mean) / seconds
	}
	if math.Abs(mean-rate) > 1 || math.Abs(variance-rate) > 10 {
		t.Errorf("mean %.1f, variance %.1f, want %d and %d", mean, variance, rate, rate)
	}
}

// TestPauseDropsWhatWasDue checks that a run that goes on after a pause does not catch up.
func TestPauseDropsWhatWasDue(t *testing.T) {
	a := newArrivals(&script.Load{Executor: script.ConstantArrivalRate, Rate: 100, Duration: 10 * time.Second}, 1)
	a.next(1, 0)
	if d, ok := a.next(1, 6*time.Second); !ok || d < 6*time.Second {
		t.Errorf("after a pause until 6 s, an iteration is due at %v, %v", d, ok)
	}
}

func TestUsersAt(t *testing.T) {
	l := script.Load{Executor: script.RampingVUs, VUs: 10, Stages: []script.Stage{{Duration: 10 * time.Second, Target: 30}, {Target: 5}, {Duration: 10 * time.Second, Target: 5}}}
	for at, want := range map[time.Duration]int{0: 10, 5 * time.Second: 20, 9999 * time.Millisecond: 30, 10 * time.Second: 5, 19 * time.Second: 5, time.Minute: 5} {
		if got := l.UsersAt(at); got != want {
			t.Errorf("%v: %d users, want %d", at, got, want)
		}
	}
}
