package negotiate

import "unsafe"

// view returns the bytes of a header as a string, without a copy. This is legal because the bytes do not change
// while the string is in use: functions that call view return before their caller continues. They neither keep nor
// return a part of the header.
func view[H Header](header H) string {
	// A slice begins with what a string is: a pointer and a length.
	return *(*string)(unsafe.Pointer(&header))
}
