package plainjson

import "unsafe"

// asString returns b as a string without a copy. b must not change while the string is in use.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// asAny returns *p as an any without a copy. *p must not change while the any is in use. T must not be a pointer,
// function, map or channel. An any consists of two words: the type, and a pointer to the value, which may be part of
// something larger. asAny takes an any that already has the type and replaces its pointer.
func asAny[T string | float64](p *T) any {
	var zero T
	var v any = zero
	(*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1] = unsafe.Pointer(p)
	return v
}
