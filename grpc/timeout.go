package gallopgrpc

import (
	"math"
	"time"
)

// parseTimeout parses the value of grpc-timeout: at most eight digits and a unit. ok is false if it is malformed.
func parseTimeout(s []byte) (d time.Duration, ok bool) {
	n := len(s) - 1
	if n < 1 || n > 8 {
		return 0, false
	}
	unit := timeoutUnit(s[n])
	if unit == 0 {
		return 0, false
	}
	for _, c := range s[:n] {
		if c < '0' || c > '9' {
			return 0, false
		}
		d = 10*d + time.Duration(c-'0')
	}
	if d > math.MaxInt64/unit {
		return math.MaxInt64, true
	}
	return d * unit, true
}

// timeoutUnit returns the unit with this letter, or 0.
func timeoutUnit(letter byte) time.Duration {
	switch letter {
	case 'H':
		return time.Hour
	case 'M':
		return time.Minute
	case 'S':
		return time.Second
	case 'm':
		return time.Millisecond
	case 'u':
		return time.Microsecond
	case 'n':
		return time.Nanosecond
	}
	return 0
}
