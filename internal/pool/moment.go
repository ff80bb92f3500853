package pool

import "time"

// Moment is a point in time on the monotonic clock. Reading a Moment costs half as much as time.Now. The zero Moment
// means never.
type Moment time.Duration

var epoch = time.Now()

// Now returns the present moment.
func Now() Moment { return Moment(time.Since(epoch)) }

// Time returns the wall time of m, or the zero time if m is zero.
func (m Moment) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(Now() - m))
}
