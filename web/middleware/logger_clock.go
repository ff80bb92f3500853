package middleware

import (
	"sync/atomic"
	"time"
)

// logEpoch is the time that the beginning of requests is measured from. time.Since reads one clock, and time.Now reads two.
var logEpoch = time.Now()

// timeOfDayAt is when timeOfDay has read the time of day, or nil.
var timeOfDayAt atomic.Pointer[time.Time]

// timeOfDay returns the current time, which is exact unless the machine's clock was set within the last second. It reads only the monotonic
// clock, except once a second.
func timeOfDay() time.Time {
	if at := timeOfDayAt.Load(); at != nil {
		if passed := time.Since(*at); passed >= 0 && passed < time.Second {
			return at.Add(passed)
		}
	}
	now := time.Now()
	timeOfDayAt.Store(&now)
	return now
}
