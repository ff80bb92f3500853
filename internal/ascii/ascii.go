// Package ascii provides functions over bytes: the character classes of RFC 9110 §5.6, ASCII case folding, decimal
// and hexadecimal integers, and comma-separated lists of tokens. Parsers use its functions that process eight bytes
// at a time.
//
// Nothing here depends on a locale. Only the Append functions allocate, when their buffer is too small.
package ascii

// Text is the type of arguments: a string or a byte slice.
type Text interface{ ~string | ~[]byte }

// Character classes, one bit each, for the table below.
const (
	classToken  = 1 << iota // tchar, RFC 9110 §5.6.2
	classValue              // field-vchar, SP and HTAB, RFC 9110 §5.5
	classHex                // HEXDIG
	classDigit              // DIGIT
	classCookie             // "cookie-octet", RFC 6265 §4.1.1
)

var classes = buildClasses()

func buildClasses() (t [256]uint8) {
	for c := 0; c < 256; c++ {
		alnum := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if alnum {
			t[c] |= classToken
		}
		if c >= 0x20 && c != 0x7f || c == '\t' {
			t[c] |= classValue
		}
		if c >= '0' && c <= '9' {
			t[c] |= classDigit | classHex
		}
		if c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' {
			t[c] |= classHex
		}
		if c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\' {
			t[c] |= classCookie
		}
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~") {
		t[c] |= classToken
	}
	return t
}

// IsTokenByte reports whether c is a tchar (RFC 9110 §5.6.2).
func IsTokenByte(c byte) bool { return classes[c]&classToken != 0 }

// IsCookieOctet reports whether c is a character that RFC 6265 §4.1.1 allows in a cookie value.
func IsCookieOctet(c byte) bool { return classes[c]&classCookie != 0 }

// IsDigit reports whether c is a decimal digit.
func IsDigit(c byte) bool { return classes[c]&classDigit != 0 }

// IsHex reports whether c is a hexadecimal digit of either case.
func IsHex(c byte) bool { return classes[c]&classHex != 0 }

// IsToken reports whether s is a token: one or more tchar (RFC 9110 §5.6.2).
func IsToken[S Text](s S) bool {
	for i := 0; i < len(s); i++ {
		if classes[s[i]]&classToken == 0 {
			return false
		}
	}
	return len(s) > 0
}

// IsASCII reports whether all bytes of s are ASCII.
func IsASCII[S Text](s S) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// IsFieldValue reports whether all bytes of s are allowed in a field value (RFC 9110 §5.5), which excludes control
// characters except HTAB. The empty value is valid.
func IsFieldValue[S Text](s S) bool {
	for i := 0; i < len(s); i++ {
		if classes[s[i]]&classValue == 0 {
			return false
		}
	}
	return true
}

// Lower returns c in lower case if it is an ASCII letter, or c itself.
func Lower(c byte) byte {
	if c-'A' <= 'Z'-'A' {
		return c | 0x20
	}
	return c
}

// EqualFold reports whether s and t are equal, ignoring the case of ASCII letters.
func EqualFold[S, T Text](s S, t T) bool {
	if len(s) != len(t) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if a, b := s[i], t[i]; a != b && Lower(a) != Lower(b) {
			return false
		}
	}
	return true
}

// HasPrefixFold reports whether s begins with prefix, ignoring the case of ASCII letters.
func HasPrefixFold[S, T Text](s S, prefix T) bool {
	return len(s) >= len(prefix) && EqualFold(s[:len(prefix)], prefix)
}

// TrimOWS returns b without blanks (SP, HTAB) at both ends (RFC 9110 §5.6.3).
func TrimOWS[S Text](b S) S {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// HasToken reports whether the comma-separated list contains token, ignoring ASCII case and empty members (RFC 9110
// §5.6.1). Members with parameters do not match.
func HasToken[S, T Text](list S, token T) bool {
	for len(list) > 0 {
		var member S
		member, list = Cut(list, ',')
		if EqualFold(TrimOWS(member), token) {
			return true
		}
	}
	return false
}

// Cut splits s at the first sep. Without a sep it returns s and an empty text.
func Cut[S Text](s S, sep byte) (before, after S) {
	for i := 0; i < len(s); i++ {
		if s[i] == sep {
			return s[:i], s[i+1:]
		}
	}
	return s, s[len(s):]
}
