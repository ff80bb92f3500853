package middleware

import (
	"sync/atomic"
	"time"
)

// logEpoch is the time that the beginning of requests is measured from. time.Since reads one clock, and time.Now reads two.
var logEpoch = time.Now()

// clockReading is what both clocks showed at one moment.
type clockReading struct {
	sinceEpoch time.Duration
	timeOfDay  time.Time // without the monotonic clock
}

// lastReading is when the time of day was last read, or nil.
var lastReading atomic.Pointer[clockReading]

// timeOfDay returns the time of day at a moment that has just passed, since logEpoch. It is exact unless the machine's clock was set
// within the last second. timeOfDay reads the clock once a second.
func timeOfDay(moment time.Duration) time.Time {
	if last := lastReading.Load(); last != nil {
		if passed := moment - last.sinceEpoch; passed >= 0 && passed < time.Second {
			return last.timeOfDay.Add(passed)
		}
	}
	now := time.Now()
	lastReading.Store(&clockReading{now.Sub(logEpoch), now.Round(0)})
	return now.Round(0)
}
