package gallop

import (
	"unsafe"
)

// UnsafeString returns b as a string without copying it.
//
// The string shares the memory of b. The string is valid only as long as the bytes of b do not change. No other
// function of this package returns a string that aliases a buffer. Use string(b) if in doubt.
func UnsafeString(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// UnsafeBytes returns the bytes of s without a copy. Do not write to the bytes, because strings are immutable and
// string constants are in read-only memory. The result for an empty string is empty and may be nil.
func UnsafeBytes(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
