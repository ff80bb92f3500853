package poll

import (
	"math"
	"time"
)

// Moment is a point in time on a clock that does not go back, in nanoseconds.
type Moment int64

// epoch is before the time at which synctest bubbles begin, where clocks do not count from
// the start of the process.
var epoch = time.Now().Add(-50 * 365 * 24 * time.Hour)

// Now returns the present moment.
func Now() Moment { return Moment(time.Since(epoch)) }

// MomentOf returns the moment of a time that has a monotonic reading.
func MomentOf(t time.Time) Moment { return Moment(t.Sub(epoch)) }

// Add returns m plus d, which is not negative, or the last moment there is.
func (m Moment) Add(d time.Duration) Moment { return m + min(Moment(d), math.MaxInt64-m) }

// wheelTick is how exactly connections expire.
const wheelTick = 100 * time.Millisecond

// tick returns the moment at which a wheel fires what is due at m, so that moments that
// come to the same are the same.
func (m Moment) tick() Moment {
	if over := m % Moment(wheelTick); over > 0 {
		return m.Add(wheelTick - time.Duration(over))
	}
	return m
}

// past is a deadline that has passed, whatever the time is.
const past = 1

// momentOf returns a deadline as a number: 0 is none. One without a monotonic reading is as far away as the
// clock says now, whatever it said when the process began.
func momentOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	now := Now()
	return max(past, int64(now.Add(max(time.Until(t), -time.Duration(now)))))
}
