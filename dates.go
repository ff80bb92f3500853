package gallop

import (
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// AppendHTTPDate appends date to dst as HTTP writes it, in UTC: RFC 9110 §5.6.7.
func AppendHTTPDate(dst []byte, date time.Time) []byte { return clock.AppendHTTPDate(dst, date) }

// ParseHTTPDate reads a date in any of the three forms of RFC 9110 §5.6.7.
func ParseHTTPDate(date []byte) (time.Time, error) { return clock.ParseHTTPDate(date) }

// CoarseTimeNow returns the current time, cut to the second.
func CoarseTimeNow() time.Time { return time.Now().Truncate(time.Second) }
