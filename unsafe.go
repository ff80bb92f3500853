package gallop

import (
	"crypto/tls"
	"reflect"
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

// tlsConfigIn returns the configuration in a field of type *tls.Config, which need not be exported. Converting what UnsafePointer
// returns to a pointer of the field's own type is legal (rule 1 of unsafe.Pointer). The result is nil for a field of another type.
func tlsConfigIn(field reflect.Value) *tls.Config {
	if !field.IsValid() || field.Type() != reflect.TypeFor[*tls.Config]() {
		return nil
	}
	return (*tls.Config)(field.UnsafePointer())
}
