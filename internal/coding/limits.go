package coding

import "math"

const (
	// DefaultMaxSize is the decoded size in bytes at which decoding stops.
	DefaultMaxSize = 32 << 20
	// DefaultMaxRatio is the expansion at which decoding stops.
	DefaultMaxRatio = 100
	// ratioFloor is the number of output bytes up to which any expansion is allowed. A page of blanks compresses a
	// thousandfold, but is small and harmless.
	ratioFloor = 1 << 20
	// maxWindow is the largest zstd window (RFC 9659 §3).
	maxWindow = 8 << 20
)

// Limits limits the output of decoding. In both fields zero means the default, and a negative number means unlimited.
type Limits struct {
	// MaxSize is the maximum size of a decoded body in bytes. If codings are nested, it applies to the output of
	// each.
	MaxSize int64
	// MaxRatio is the maximum number of output bytes per byte of the encoded body. It applies once there is more than
	// 1 MiB of output. For a stream it is compared with what was read so far, and for nested codings with the
	// outermost body.
	MaxRatio int
}

func (l Limits) withDefaults() Limits {
	switch {
	case l.MaxSize == 0:
		l.MaxSize = DefaultMaxSize
	case l.MaxSize < 0:
		l.MaxSize = math.MaxInt64
	}
	switch {
	case l.MaxRatio == 0:
		l.MaxRatio = DefaultMaxRatio
	case l.MaxRatio < 0:
		l.MaxRatio = math.MaxInt
	}
	return l
}

// check returns ErrTooLarge or ErrRatio if in bytes must not yield out bytes. The limits must have their defaults
// filled in.
func (l Limits) check(in, out int64) error {
	switch {
	case out > l.MaxSize:
		return ErrTooLarge
	case out > l.mayYield(in):
		return ErrRatio
	}
	return nil
}

// mayYield returns how many bytes the ratio allows for in bytes of input.
func (l Limits) mayYield(in int64) int64 {
	if l.MaxRatio == math.MaxInt || in > math.MaxInt64/int64(l.MaxRatio) { // an int has 32 bits on some platforms
		return math.MaxInt64
	}
	return max(ratioFloor, in*int64(l.MaxRatio))
}
