package gallop

import (
	"sync"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// AppendNormalizedHeaderKey appends key to dst in the usual spelling of header names. The first letter and each letter
// after a dash become upper case, as in "Content-Type". All other letters become lower case. A key that is not a token
// (RFC 9110 §5.6.2) is appended unchanged.
func AppendNormalizedHeaderKey(dst []byte, key string) []byte {
	start := len(dst)
	dst = append(dst, key...)
	if !ascii.IsToken(key) {
		return dst
	}
	upper := true
	for i := start; i < len(dst); i++ {
		c := ascii.Lower(dst[i])
		if upper && c-'a' <= 'z'-'a' {
			c -= 'a' - 'A'
		}
		dst[i] = c
		upper = c == '-'
	}
	return dst
}

// isNormalizedHeaderKey reports whether AppendNormalizedHeaderKey would leave key unchanged. key must be a token.
func isNormalizedHeaderKey(key []byte) bool {
	upper := true
	for _, c := range key {
		if upper && c-'a' <= 'z'-'a' || !upper && c-'A' <= 'Z'-'A' {
			return false
		}
		upper = c == '-'
	}
	return true
}

// AppendNormalizedHeaderKeyBytes does the same as [AppendNormalizedHeaderKey], but takes a key of type []byte.
func AppendNormalizedHeaderKeyBytes(dst, key []byte) []byte {
	return AppendNormalizedHeaderKey(dst, UnsafeString(key))
}

// VisitHeaderParams calls f for each parameter of the header value b. Parameters have the form ";name=value" (RFC 9110
// §5.6.6). VisitHeaderParams stops when f returns false, or at the first text that is not a parameter. If a value is
// quoted, f gets the value without its quotes, but with its backslashes. The slices key and value point into b, so f
// must not keep them.
func VisitHeaderParams(b []byte, f func(key, value []byte) bool) {
	_, b = ascii.Cut(b, ';')
	for {
		if b = trimLeftOWS(b); len(b) > 0 && b[0] == ';' {
			b = b[1:] // an empty parameter
			continue
		}
		n := tokenLength(b)
		if n == 0 || n == len(b) || b[n] != '=' {
			return
		}
		key := b[:n]
		value, rest, ok := cutParamValue(b[n+1:])
		if !ok || !f(key, value) {
			return
		}
		if b = trimLeftOWS(rest); len(b) == 0 || b[0] != ';' {
			return
		}
		b = b[1:]
	}
}

func trimLeftOWS(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

func tokenLength(b []byte) int {
	n := 0
	for n < len(b) && ascii.IsTokenByte(b[n]) {
		n++
	}
	return n
}

// cutParamValue cuts a token or quoted string off the start of b.
func cutParamValue(b []byte) (value, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		n := tokenLength(b)
		return b[:n], b[n:], n > 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[1:i], b[i+1:], true
		}
	}
	return nil, nil, false
}

// Setters return no error. If a setter refuses a name, that is a mistake in the program. It is logged once for
// each name, so that the author notices.

// refusedNames are the names that were logged.
var refusedNames struct {
	sync.Mutex
	seen map[string]struct{}
}

const (
	// maxRefusedNames is how many names are logged. A program may make header names from data that clients send.
	maxRefusedNames = 64

	// maxRefusedName is how many bytes of a name are logged.
	maxRefusedName = 64
)

// noteRefused logs that a setter refused a field because of its name.
func noteRefused(id field.ID, name []byte) {
	if id != field.Unknown || isFieldName(name) {
		return
	}
	short := string(name[:min(len(name), maxRefusedName)])
	refusedNames.Lock()
	defer refusedNames.Unlock()
	if _, seen := refusedNames.seen[short]; seen || len(refusedNames.seen) >= maxRefusedNames {
		return
	}
	if refusedNames.seen == nil {
		refusedNames.seen = map[string]struct{}{}
	}
	refusedNames.seen[short] = struct{}{}
	defaultLogger.Printf("header field not set: %q is not a valid name (RFC 9110, section 5.1)", short)
}
