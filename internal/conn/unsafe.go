package conn

import (
	"crypto/tls"
	"reflect"
)

// tlsConfigIn returns the configuration in a field of type *tls.Config, which need not be exported. Converting what UnsafePointer
// returns to a pointer of the field's own type is legal (rule 1 of unsafe.Pointer). The result is nil for a field of another type.
func tlsConfigIn(field reflect.Value) *tls.Config {
	if !field.IsValid() || field.Type() != reflect.TypeFor[*tls.Config]() {
		return nil
	}
	return (*tls.Config)(field.UnsafePointer())
}
