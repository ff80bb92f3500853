package negotiate

import (
	"slices"

	"github.com/gallop-http/gallop/internal/ascii"
)

// AppendVary appends a value for the Vary header (RFC 9110 §12.5.5) to dst. The value consists of the header
// argument, which is the current value of Vary, and the names in the fields argument. The fields argument names
// request headers that the response also depends on. AppendVary does not repeat a name that Vary already contains,
// in upper or lower case. If one of the names is "*", the value is "*". The slice dst must not share memory with
// the header argument.
func AppendVary[H Header](dst []byte, header H, fields ...string) []byte {
	value := ascii.TrimOWS(view(header))
	if slices.Contains(fields, "*") || ascii.HasToken(value, "*") {
		return append(dst, '*')
	}
	start := len(dst)
	dst = append(dst, value...)
	for _, field := range fields {
		if field == "" || ascii.HasToken(dst[start:], field) {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ", "...)
		}
		dst = append(dst, field...)
	}
	return dst
}
