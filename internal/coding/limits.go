package coding

import "math"

const (
	// DefaultMaxSize is the decoded size in bytes at which decoding stops.
	DefaultMaxSize = 32 << 20
	// DefaultMaxRatio is the expansion at which decoding stops.
	DefaultMaxRatio = 100
	// ratioFloor is the output in bytes up to which any expansion is fine: a page
	// of blanks is small, compresses a thousandfold and hurts nobody.
	ratioFloor = 1 << 20
	// maxWindow is the largest zstd window, RFC 9659 §3.
	maxWindow = 8 << 20
)

// Limits bound what decoding may yield. In both fields zero means the default and
// a negative number that there is no limit.
type Limits struct {
	// MaxSize is the largest decoded body in bytes, exactly that included. Where
	// codings are nested it holds for what each of them yields.
	MaxSize int64
	// MaxRatio is how many bytes the body as received may yield each, once there
	// is more than 1 MiB of output. A stream is measured against what was read of
	// it so far, and nested codings against the outermost.
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

// check returns ErrTooLarge or ErrRatio if in bytes must not yield out bytes. The
// limits have their defaults filled in.
func (l Limits) check(in, out int64) error {
	switch {
	case out > l.MaxSize:
		return ErrTooLarge
	case out > l.mayYield(in):
		return ErrRatio
	}
	return nil
}

// mayYield returns how much in bytes may yield by the ratio alone.
func (l Limits) mayYield(in int64) int64 {
	if l.MaxRatio == math.MaxInt || in > math.MaxInt64/int64(l.MaxRatio) { // the former has 32 bits in places
		return math.MaxInt64
	}
	return max(ratioFloor, in*int64(l.MaxRatio))
}
