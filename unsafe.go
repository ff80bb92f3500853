package gallop

import "unsafe"

// UnsafeString returns b as a string without copying it.
//
// The string shares b's memory: it is valid only as long as b's bytes do not
// change, and b must not be written to while the string is in use. It is the one place
// where a string of this package aliases a buffer; string(b) is the safe way.
func UnsafeString(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// UnsafeBytes returns the bytes of s without copying them.
//
// They must not be written to: strings are immutable, and those of constants lie in
// memory that cannot be written. For the empty string the result is empty and may be nil.
func UnsafeBytes(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
