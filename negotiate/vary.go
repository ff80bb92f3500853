package negotiate

import (
	"slices"

	"github.com/gallop-http/gallop/internal/ascii"
)

// AppendVary appends to dst the value of Vary (RFC 9110 §12.5.5) that an answer has
// when its choice also depended on these fields of the request. header is the value
// that it had so far; dst may not share its memory. What is there already, in any
// case, is not added, and "*" on either side makes it "*".
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
