package gallop

import (
	"crypto/tls"
	"reflect"
	"unsafe"
)

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

// tlsConfigIn returns the configuration in a field of type *tls.Config, which need not be exported. Converting what UnsafePointer
// returns to a pointer of the field's own type is legal (rule 1 of unsafe.Pointer). The result is nil for a field of another type.
func tlsConfigIn(field reflect.Value) *tls.Config {
	if !field.IsValid() || field.Type() != reflect.TypeFor[*tls.Config]() {
		return nil
	}
	return (*tls.Config)(field.UnsafePointer())
}
