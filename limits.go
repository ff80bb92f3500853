package gallop

import (
	"errors"
	"net"
	"time"
)

// A limit is a number, a duration or a time. In a setting, zero means the default and a negative value turns the limit
// off. Where a limit is in force, zero turns it off: a duration of zero is endless, and the zero time never comes.

// orDefault is v if it is positive, else the default.
func orDefault[T int | time.Duration](v, d T) T {
	if v > 0 {
		return v
	}
	return d
}

// orNone is the default if v is zero, and 0 if it is negative.
func orNone[T int | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return max(v, 0)
}

// after is t plus d, or never (the zero time) if d is 0.
func after(t time.Time, d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return t.Add(d)
}

// earlier is the earlier of two times, where the zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// shorter is the shorter of two durations, where 0 is endless.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// slack is how late a timer may fire, so that it need not be set anew for every
// request: a sixteenth of the timeout, a second at the most.
func slack(timeout time.Duration) time.Duration {
	return min(timeout/16, time.Second)
}

func isTimeout(err error) bool {
	t, ok := err.(net.Error)
	return ok && t.Timeout()
}

// timedOut reports whether err is that of a deadline.
func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
