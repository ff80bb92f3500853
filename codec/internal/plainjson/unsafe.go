package plainjson

import "unsafe"

// asString returns b as a string without a copy. Nobody may write to b while the string is in use.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// asAny returns *p as an any without a copy. Nobody may write to *p while the any is in use. T is no pointer, function, map or
// channel: an any is two words, the type and a pointer to the value, which may be part of something larger. The any that
// gets another pointer has the type already.
func asAny[T string | float64](p *T) any {
	var zero T
	var v any = zero
	(*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1] = unsafe.Pointer(p)
	return v
}
