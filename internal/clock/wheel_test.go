package clock

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

type timer = Timer[string]

// fired advances the wheel and returns the sorted owners of the timers that fired.
func fired(w *Wheel[string], now int64) []string {
	var owners []string
	w.Advance(now, func(t *timer) { owners = append(owners, t.Owner) })
	slices.Sort(owners)
	return owners
}

func TestTimersFireInTheirTick(t *testing.T) {
	const start = 10_000
	for _, tc := range []struct {
		name     string
		deadline int64
		want     int64 // the first time at which it fires; ticks are 100 long
	}{
		{"on a boundary", 10_300, 10_300},
		{"just behind one", 10_301, 10_400},
		{"just before one", 10_399, 10_400},
		{"now", 10_000, 10_100},
		{"in the past", 5_000, 10_100},
		{"before all time", math.MinInt64, 10_100},
		{"in the same tick", 10_001, 10_100},
		{"a turn ahead", 10_000 + 6_400, 16_400},
		{"a turn and a tick ahead", 10_000 + 6_500, 16_500},
		{"many turns ahead", 10_000 + 640_000, 650_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, step := range []int64{1, 7, 100, 250, 100_000} {
				w := NewWheel[string](100, 64, start)
				x := &timer{Owner: "x"}
				w.Add(x, tc.deadline)
				now := int64(start)
				for x.Pending() {
					now += step
					owners := fired(w, now)
					if due := now >= tc.want; due != (len(owners) == 1) || due == x.Pending() {
						t.Fatalf("step %d: at %d fired %q, want it at %d", step, now, owners, tc.want)
					}
				}
			}
		})
	}
}

func TestATimerThatMoves(t *testing.T) {
	w := NewWheel[string](100, 64, 0)
	a, b := &timer{Owner: "a"}, &timer{Owner: "b"}
	w.Add(a, 500)
	w.Add(b, 500)
	w.Add(a, 450) // the same tick
	w.Add(a, 900) // later
	w.Add(b, 100) // earlier
	if got := fired(w, 500); !slices.Equal(got, []string{"b"}) {
		t.Errorf("at 500: %q", got)
	}
	w.Del(a)
	w.Del(a)
	w.Del(b)
	if got := fired(w, 10_000); got != nil || a.Pending() {
		t.Errorf("a deleted timer fired: %q", got)
	}
	if at, ok := w.Next(); ok {
		t.Errorf("Next of an empty wheel: %d", at)
	}
}

func TestFarDeadlines(t *testing.T) {
	w := NewWheel[string](100*time.Millisecond, 1024, 0)
	w.Add(&timer{Owner: "never"}, math.MaxInt64)
	for turn := range int64(100) {
		if got := fired(w, turn*int64(time.Hour)); got != nil {
			t.Fatalf("fired after %d hours: %q", turn, got)
		}
	}
}

func TestAClockThatStandsStillOrGoesBack(t *testing.T) {
	w := NewWheel[string](100, 64, 1000)
	w.Add(&timer{Owner: "x"}, 1100)
	for _, now := range []int64{1000, 1099, 500, 0} {
		if got := fired(w, now); got != nil {
			t.Errorf("at %d: %q", now, got)
		}
	}
	w.Add(&timer{Owner: "y"}, 0)
	if at, _ := w.Next(); at != 1100 {
		t.Errorf("Next: %d, want 1100", at)
	}
	if got := fired(w, 1100); len(got) != 2 {
		t.Errorf("at 1100: %q", got)
	}
}

func TestFireMayChangeTheWheel(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(w *Wheel[string], self, other *timer)
		want []int // how many fire in each of three ticks, two of them due in the first
	}{
		{"nothing", func(w *Wheel[string], self, other *timer) {}, []int{2, 0, 0}},
		{"again at once", func(w *Wheel[string], self, other *timer) { w.Add(self, 0) }, []int{2, 2, 2}},
		{"again later", func(w *Wheel[string], self, other *timer) { w.Add(self, 300) }, []int{2, 0, 2}},
		{"delete the other", func(w *Wheel[string], self, other *timer) { w.Del(other) }, []int{1, 0, 0}},
		{"put the other off", func(w *Wheel[string], self, other *timer) { w.Add(other, 200) }, []int{1, 1, 1}},
		{"delete itself", func(w *Wheel[string], self, other *timer) { w.Del(self) }, []int{2, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := NewWheel[string](100, 64, 0)
			a, b := &timer{Owner: "a"}, &timer{Owner: "b"}
			w.Add(a, 100)
			w.Add(b, 50)
			var got []int
			for tick := range int64(3) {
				n := 0
				w.Advance((tick+1)*100, func(self *timer) {
					n++
					other := a
					if self == a {
						other = b
					}
					tc.do(w, self, other)
				})
				got = append(got, n)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("fired %v, want %v", got, tc.want)
			}
		})
	}
}

func TestNextDuringAdvanceIsNow(t *testing.T) {
	w := NewWheel[string](100, 64, 0)
	w.Add(&timer{}, 100)
	w.Add(&timer{}, 100)
	var got []string
	w.Advance(250, func(*timer) { at, ok := w.Next(); got = append(got, fmt.Sprint(at, ok)) })
	if want := []string{"200 true", "0 false"}; !slices.Equal(got, want) {
		t.Errorf("Next: %q, want %q", got, want)
	}
}

func TestNewWheelRefusesATickOfNothing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewWheel[string](0, 64, 0)
}

// On random input the wheel behaves like a plain list of deadlines.
func TestWheelIsAListOfDeadlines(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		tick, slots := 1+r.Int64N(1000), 64<<r.IntN(3)
		now := r.Int64N(1_000_000)
		reach := 3 * tick * int64(slots)
		w := NewWheel[int](time.Duration(tick), slots, now)
		timers := make([]Timer[int], 50)
		for i := range timers {
			timers[i].Owner = i
		}
		model := map[int]int64{} // when each timer must fire
		for range 3000 {
			i := r.IntN(len(timers))
			switch r.IntN(4) {
			case 0, 1:
				deadline := now - tick + r.Int64N([]int64{2 * tick, reach / 10, reach}[r.IntN(3)])
				w.Add(&timers[i], deadline)
				model[i] = max((deadline+tick-1)/tick, now/tick+1) * tick
			case 2:
				w.Del(&timers[i])
				delete(model, i)
			case 3:
				now += r.Int64N([]int64{tick, 10 * tick, reach}[r.IntN(3)])
				var got, want []int
				w.Advance(now, func(t *Timer[int]) { got = append(got, t.Owner) })
				for j, at := range model {
					if at <= now {
						want = append(want, j)
						delete(model, j)
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d: at %d fired %v, want %v", seed, now, got, want)
				}
			}
			if timers[i].Pending() != (model[i] != 0) {
				t.Fatalf("seed %d: timer %d: pending %v, want %v", seed, i, timers[i].Pending(), model[i] != 0)
			}
			checkNext(t, w, model, now)
		}
	}
}

// checkNext checks that Next is after now and not after the first deadline of the model. Next must equal that
// deadline if no timer is due a turn or more ahead.
func checkNext(t *testing.T, w *Wheel[int], model map[int]int64, now int64) {
	t.Helper()
	at, ok := w.Next()
	if ok != (len(model) > 0) {
		t.Fatalf("Next: %v with %d pending", ok, len(model))
	}
	if !ok {
		return
	}
	due := slices.Sorted(maps.Values(model))
	first, last := due[0], due[len(due)-1]
	withinATurn := last-now < w.tick*int64(len(w.slots))
	if at <= now || at > first || withinATurn && at != first {
		t.Fatalf("Next: %d at %d, want %d", at, now, first)
	}
}

func TestWheelDoesNotAllocate(t *testing.T) {
	w := NewWheel[int](100, 64, 0)
	timers := make([]Timer[int], 10)
	now := int64(0)
	n := testing.AllocsPerRun(100, func() {
		for i := range timers {
			w.Add(&timers[i], now+int64(i)*70)
		}
		w.Del(&timers[3])
		now += 300
		w.Advance(now, func(*Timer[int]) {})
		w.Next()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkWheelAdd does the work of a loop for each request on each of 10,000 connections.
func BenchmarkWheelAdd(b *testing.B) {
	for _, tc := range []struct {
		name string
		step int64
	}{{"same tick", 1}, {"next tick", int64(100 * time.Millisecond)}} {
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			w := NewWheel[int](100*time.Millisecond, 1024, 0)
			timers := make([]Timer[int], 10_000)
			deadline, i := int64(75*time.Second), 0
			for b.Loop() {
				w.Add(&timers[i], deadline)
				if i++; i == len(timers) {
					i, deadline = 0, deadline+tc.step
				}
			}
		})
	}
}
