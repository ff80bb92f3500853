package middleware

import (
	"testing"
	"testing/synctest"
	"time"
)

// The time of day is exact, however long ago it was read, and also if other goroutines use another clock.
func TestTimeOfDay(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			for _, pause := range []time.Duration{0, time.Nanosecond, 999 * time.Millisecond, time.Second, time.Hour} {
				time.Sleep(pause)
				now, got := time.Now(), timeOfDay()
				if !got.Equal(now) || got.Sub(now) != 0 || !got.Round(0).Equal(now.Round(0)) {
					t.Errorf("after a pause of %v: %v, want %v", pause, got, now)
				}
			}
		})
		before := time.Now()
		if got := timeOfDay(); got.Before(before) || got.Round(0).Sub(before.Round(0)) > time.Minute {
			t.Errorf("%v, want %v", got, before)
		}
	}
}
