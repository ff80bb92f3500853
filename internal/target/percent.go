package target

import (
	"bytes"

	"github.com/gallop-http/gallop/internal/ascii"
)

// Set is a set of bytes that need no escape in one part of a URI.
type Set uint8

const (
	Path     Set = 1 << iota // pchar and '/': RFC 3986 §3.3
	Query                    // pchar, '/' and '?': §3.4, and the same for a fragment, §3.5
	Argument                 // unreserved: one name or value of a query
	Userinfo                 // unreserved, sub-delims: a user name or password, §3.2.1
)

var escapeClasses = buildEscapeClasses()

func buildEscapeClasses() (t [256]uint8) {
	for c, class := range targetClasses {
		if class&unreserved != 0 {
			t[c] |= uint8(Path | Query | Argument | Userinfo)
		}
		if class&subDelim != 0 {
			t[c] |= uint8(Path | Query | Userinfo)
		}
	}
	for _, c := range []byte(":@/") {
		t[c] |= uint8(Path | Query)
	}
	t['?'] |= uint8(Query)
	return t
}

// AppendEscape appends src and escapes every byte that is not in the set.
func AppendEscape(dst, src []byte, set Set) []byte {
	for _, c := range src {
		if escapeClasses[c]&uint8(set) != 0 {
			dst = append(dst, c)
		} else {
			dst = appendEscaped(dst, c)
		}
	}
	return dst
}

// AppendEscapeArgument appends src as one name or value of a query, with '+' for a space.
func AppendEscapeArgument(dst, src []byte) []byte {
	for _, c := range src {
		switch {
		case escapeClasses[c]&uint8(Argument) != 0:
			dst = append(dst, c)
		case c == ' ':
			dst = append(dst, '+')
		default:
			dst = appendEscaped(dst, c)
		}
	}
	return dst
}

func appendEscaped(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}

// AppendUnescape appends src with its escapes decoded. A '%' without two hexadecimal digits after it is kept. dst may
// be src[:0].
func AppendUnescape(dst, src []byte) []byte {
	for {
		n := bytes.IndexByte(src, '%')
		if n < 0 {
			return append(dst, src...)
		}
		dst = append(dst, src[:n]...)
		if src = src[n:]; isEscape(src) {
			dst = append(dst, unescape(src))
			src = src[3:]
		} else {
			dst = append(dst, '%')
			src = src[1:]
		}
	}
}

// AppendUnescapeArgument is like AppendUnescape for a name or value of a query, in which '+' means a space.
func AppendUnescapeArgument(dst, src []byte) []byte {
	n := 0
	for n < len(src) && src[n] != '+' && src[n] != '%' {
		n++
	}
	dst = append(dst, src[:n]...)
	for i := n; i < len(src); i++ {
		c := src[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && isEscape(src[i:]):
			c = unescape(src[i:])
			i += 2
		}
		dst = append(dst, c)
	}
	return dst
}

// ValidEscapes reports whether each '%' in b is followed by two hexadecimal digits.
func ValidEscapes(b []byte) bool {
	for {
		n := bytes.IndexByte(b, '%')
		if n < 0 {
			return true
		}
		if b = b[n:]; !isEscape(b) {
			return false
		}
		b = b[3:]
	}
}

// isEscape reports whether b begins with an escape.
func isEscape(b []byte) bool {
	return len(b) > 2 && b[0] == '%' && ascii.IsHex(b[1]) && ascii.IsHex(b[2])
}

// unescape returns the byte that the escape at the start of b encodes.
func unescape(b []byte) byte {
	high, _ := ascii.Unhex(b[1])
	low, _ := ascii.Unhex(b[2])
	return high<<4 | low
}
