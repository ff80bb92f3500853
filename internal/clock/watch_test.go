package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		for _, passed := range []time.Duration{0, 1, time.Second - 2, 1, 1, time.Second, time.Hour} {
			time.Sleep(passed)
			if got, want := w.Now(), time.Now(); got != want {
				t.Errorf("%v later it is %v, not %v", passed, got, want)
			}
		}
	})
}

// Start reads the time of day, also before a second has passed, and Now goes on from there.
func TestWatchStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		for range 2 {
			time.Sleep(time.Millisecond)
			if got, want := w.Start(), time.Now(); got != want || w.looked != want {
				t.Errorf("Start returned %v and keeps %v, not %v", got, w.looked, want)
			}
			time.Sleep(time.Second - 1)
			if got, want := w.Now(), time.Now(); got != want {
				t.Errorf("later it is %v, not %v", got, want)
			}
		}
	})
}

// The time of day is read again after a second, because the machine's clock may have been set.
func TestWatchLooksAgain(t *testing.T) {
	w := Watch{time.Now().Add(-time.Second - 1)}
	before := time.Now().Round(0)
	if got := w.Now().Round(0); got.Before(before) || got.After(time.Now().Round(0)) || w.looked.Round(0) != got {
		t.Errorf("a second later it is %v, as if nobody had looked", got)
	}
}

func BenchmarkWatch(b *testing.B) {
	b.Run("watch", func(b *testing.B) {
		var w Watch
		for b.Loop() {
			w.Now()
		}
	})
	b.Run("time", func(b *testing.B) {
		for b.Loop() {
			time.Now()
		}
	})
}
