package negotiate

import "unsafe"

// view returns the bytes of a header as a string without a copy. That is legal as long
// as they do not change, and nobody changes them: functions that call view read the
// header and return before their caller goes on, and no part of it is in what they
// return or keep.
func view[H Header](header H) string {
	// A slice begins with what a string is: a pointer and a length.
	return *(*string)(unsafe.Pointer(&header))
}
