package plainjson

import "unsafe"

// asString returns b as a string without a copy. Nobody may write to b afterwards.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
