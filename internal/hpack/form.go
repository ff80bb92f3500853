package hpack

import "github.com/gallop-http/gallop/internal/ascii"

// Form says which parts of a field have characters that HTTP/2 forbids (RFC 9113 §8.2.1). HPACK itself permits all bytes.
// A message with such a field is malformed, which package http2 decides. The decoder examines a field when the field
// arrives as a literal. The table remembers the Form, so that a repeated field is not examined again.
//
// Everything else that HTTP/2 says about fields is up to the caller: which pseudo-fields there must be, their order and
// their values, and which names are forbidden.
type Form uint8

const (
	// BadName means that the name is not a token (RFC 9110 §5.6.2) or has an upper-case letter. It is not set for a
	// pseudo-field, whose name is a known one or else an [UnknownPseudo].
	BadName Form = 1 << iota

	// BadValue means that the value has a control character other than HTAB, or a blank at one of its ends. That is as
	// strict as HTTP/1 here, because the value may be forwarded over HTTP/1.
	BadValue
)

// lowerToken has the characters that a name may have.
var lowerToken = buildLowerToken()

func buildLowerToken() (t [256]bool) {
	for c := range t {
		t[c] = ascii.IsTokenByte(byte(c)) && ascii.Lower(byte(c)) == byte(c)
	}
	return t
}

// formOfName returns BadName or 0.
func formOfName(name []byte) Form {
	for _, c := range name {
		if !lowerToken[c] {
			return BadName
		}
	}
	if len(name) == 0 {
		return BadName
	}
	return 0
}

// formOfValue returns BadValue or 0.
func formOfValue(value []byte) Form {
	n := len(value)
	if n > 0 && (isBlank(value[0]) || isBlank(value[n-1])) || ascii.IndexControl(value) != n {
		return BadValue
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
