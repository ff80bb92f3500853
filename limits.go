package gallop

import (
	"errors"
	"time"
)

// A limit is a number, a duration or a time. In a setting, zero means the default and a negative value turns the limit
// off. Once the settings are resolved, zero means unlimited: a duration of 0 has no end, and the zero time never comes.

// orDefault returns v if it is positive, and d otherwise.
func orDefault[T int | time.Duration](v, d T) T {
	if v > 0 {
		return v
	}
	return d
}

// orNone returns d if v is zero, 0 if v is negative, and v otherwise.
func orNone[T int | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return max(v, 0)
}

// within returns n if it is at least low and less than high, and otherwise the default.
func within(n, low, high, otherwise int) int {
	if n < low || n >= high {
		return otherwise
	}
	return n
}

// timedOut reports whether err, or an error that it wraps, is a timeout.
func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// maxKeptBuffer is the capacity up to which Reset keeps the buffers of URI, Args and Cookie, so that one large
// message does not stay in the pools.
const maxKeptBuffer = 64 << 10

// emptied returns b with length 0, or nil if its capacity is too large to keep.
func emptied(b []byte) []byte {
	if cap(b) > maxKeptBuffer {
		return nil
	}
	return b[:0]
}

// noCopy makes `go vet` report copies of the struct that contains it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
