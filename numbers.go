package gallop

import (
	"errors"
	"math"
	"strconv"

	"github.com/gallop-http/gallop/internal/ascii"
)

var (
	errNotUint   = errors.New("gallop: not an unsigned decimal number that fits an int")
	errNotUfloat = errors.New("gallop: not a number of at least zero")
)

// AppendUint appends n in decimal to dst. AppendUint panics if n is negative.
func AppendUint(dst []byte, n int) []byte {
	if n < 0 {
		panic("gallop: AppendUint of a negative number")
	}
	return ascii.AppendUint(dst, uint64(n))
}

// ParseUint parses buf as a decimal number that consists of digits only. ParseUint returns -1 and an error if buf is
// malformed or the number does not fit an int.
func ParseUint(buf []byte) (int, error) {
	n, ok := ascii.ParseUint(buf)
	if !ok || n > math.MaxInt {
		return -1, errNotUint
	}
	return int(n), nil
}

// ParseUfloat parses buf as a non-negative number in the syntax of strconv.ParseFloat. ParseUfloat returns -1 and an
// error if buf is malformed, negative or NaN.
func ParseUfloat(buf []byte) (float64, error) {
	f, err := strconv.ParseFloat(UnsafeString(buf), 64)
	if err != nil || !(f >= 0) || math.Signbit(f) {
		return -1, errNotUfloat
	}
	return f, nil
}
