package negotiate

import (
	"slices"

	"github.com/gallop-http/gallop/internal/ascii"
)

// AppendVary appends a value for the Vary header (RFC 9110 §12.5.5) to dst: the current value in header, followed by
// the given fields. Use it if the response also depends on the request headers with these names. Fields that header
// already contains, in upper or lower case, are not repeated. If header or fields contain "*", the value is "*". dst
// must not share memory with header.
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
