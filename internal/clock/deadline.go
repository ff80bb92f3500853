package clock

import (
	"net"
	"time"
)

// A duration of 0 is unlimited here, and the zero time never comes.

// After returns t plus d. If d is 0, it returns the zero time, which means never.
func After(t time.Time, d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return t.Add(d)
}

// Earlier returns the earlier of two times. The zero time means never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Shorter returns the shorter of two durations. 0 means unlimited.
func Shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Left returns how long it is from now until at, and less than 0 if at is the zero time. The method Sub of the zero time
// takes several times as long.
func Left(at, now time.Time) time.Duration {
	if at.IsZero() {
		return -1
	}
	return at.Sub(now)
}

// Slack returns how late a timer may fire: a sixteenth of the timeout, at most a second. Because of it, a timer need not
// be set again for every request.
func Slack(timeout time.Duration) time.Duration {
	return min(timeout/16, time.Second)
}

// IsTimeout reports whether err itself is a net.Error that is a timeout. See timedOut for wrapped errors.
func IsTimeout(err error) bool {
	t, ok := err.(net.Error)
	return ok && t.Timeout()
}
