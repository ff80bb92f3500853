package poll

import (
	"math"
	"time"
)

// Moment is a point in time on a monotonic clock, in nanoseconds.
type Moment int64

// epoch lies before the time at which synctest bubbles start, because clocks in a bubble do not count from the start
// of the process.
var epoch = time.Now().Add(-50 * 365 * 24 * time.Hour)

// Now returns the current moment.
func Now() Moment { return Moment(time.Since(epoch)) }

// MomentOf returns the moment of a time that has a monotonic reading.
func MomentOf(t time.Time) Moment { return Moment(t.Sub(epoch)) }

// Add returns m plus d, or the last possible moment if that overflows. d must not be negative.
func (m Moment) Add(d time.Duration) Moment { return m + min(Moment(d), math.MaxInt64-m) }

// wheelTick is the precision with which connections expire.
const wheelTick = 100 * time.Millisecond

// tick rounds m up to the moment at which a wheel fires timers that are due at m. Moments with the same tick expire
// together.
func (m Moment) tick() Moment {
	if over := m % Moment(wheelTick); over > 0 {
		return m.Add(wheelTick - time.Duration(over))
	}
	return m
}

// past is a deadline that has always passed.
const past = 1

// momentOf converts a deadline to a number; 0 means no deadline. A deadline without a monotonic reading is converted
// with the wall clock as it is now, even if that clock was set since the process started.
func momentOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	now := Now()
	return max(past, int64(now.Add(max(time.Until(t), -time.Duration(now)))))
}
