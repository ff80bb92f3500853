package negotiate

import "github.com/gallop-http/gallop/internal/ascii"

// equalFold reports whether two names or values are equal, ignoring the case of ASCII letters. Most clients and
// servers use the same case, so the exact comparison comes first. Only equalLetters has a loop, so that the compiler
// can inline equalFold.
func equalFold(a, b string) bool { return len(a) == len(b) && (a == b || equalLetters(a, b)) }

// equalLetters compares backwards, because many media types differ only at the end, such as image/avif and image/webp.
func equalLetters(a, b string) bool {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] && ascii.Lower(a[i]) != ascii.Lower(b[i]) {
			return false
		}
	}
	return true
}

// equalValues reports whether two parameter values, tokens or quoted strings, have the same text, ignoring the case
// of ASCII letters. An unterminated string is not equal to anything.
func equalValues(a, b string) bool {
	if !isQuoted(a) && !isQuoted(b) {
		return equalFold(a, b)
	}
	x, okX := textOf(a)
	y, okY := textOf(b)
	return okX && okY && x.equalFold(y)
}

func isQuoted(value string) bool { return value != "" && value[0] == '"' }

// text is the text of a value.
type text struct {
	rest   string // what was not read yet
	quoted bool   // rest may contain quoted pairs
}

// textOf returns the text of a value, and reports whether the value is valid.
func textOf(value string) (t text, ok bool) {
	if !isQuoted(value) {
		return text{rest: value}, true
	}
	if endOfQuoted(value, 0) != len(value)-1 {
		return text{}, false
	}
	return text{rest: value[1 : len(value)-1], quoted: true}, true
}

// equalFold compares two texts byte by byte, because quoted pairs cannot be removed without a copy.
func (t text) equalFold(u text) bool {
	for t.rest != "" && u.rest != "" {
		if ascii.Lower(t.next()) != ascii.Lower(u.next()) {
			return false
		}
	}
	return t.rest == u.rest
}

// next reads the next byte. A backslash quotes the byte that follows it (RFC 9110 §5.6.4).
func (t *text) next() byte {
	if t.quoted && t.rest[0] == '\\' {
		t.rest = t.rest[1:]
	}
	c := t.rest[0]
	t.rest = t.rest[1:]
	return c
}
