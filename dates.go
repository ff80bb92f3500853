package gallop

import (
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// AppendHTTPDate appends date to dst in the format of HTTP, in UTC (RFC 9110 §5.6.7).
func AppendHTTPDate(dst []byte, date time.Time) []byte { return clock.AppendHTTPDate(dst, date) }

// ParseHTTPDate parses a date in any of the three formats of RFC 9110 §5.6.7.
func ParseHTTPDate(date []byte) (time.Time, error) { return clock.ParseHTTPDate(date) }

// CoarseTimeNow returns the current time, truncated to the second.
func CoarseTimeNow() time.Time { return time.Now().Truncate(time.Second) }
