package gallop

import (
	"bytes"

	"github.com/gallop-http/gallop/internal/ascii"
)

// The value of a Cookie header has the form "name=value; name=value" (RFC 6265 §4.2.1). The
// functions below read that value and change it in place. The names and values that they
// return are views of it.

// nextCookiePair cuts the first pair off b. A pair without an equals sign is a value
// without a name. Blanks around both, and quotes around the value, are removed. Empty
// pairs are skipped, and so are those that Cookie.Parse would refuse for their value. At
// the end of b ok is false.
func nextCookiePair(b []byte) (name, value, rest []byte, ok bool) {
	for len(b) > 0 {
		var pair []byte
		pair, b = cutByte(b, ';')
		name, value = cutCookiePair(pair)
		value = unquoteCookieValue(value)
		if (len(name) > 0 || len(value) > 0) && parsableCookieValue(value) {
			return name, value, b, true
		}
	}
	return nil, nil, nil, false
}

// cookieValue returns the value of the first pair of that name in b.
func cookieValue(b, name []byte) (value []byte, ok bool) {
	for len(b) > 0 {
		var key []byte
		if key, value, b, ok = nextCookiePair(b); ok && bytes.Equal(key, name) {
			return value, true
		}
	}
	return nil, false
}

// appendCookie appends a pair to the value of a Cookie field. A name or value that
// Cookie would refuse adds nothing; an empty name adds the value alone.
func appendCookie(dst, name, value []byte) []byte {
	if len(name) > 0 && !ascii.IsToken(name) || len(name) == 0 && len(value) == 0 || !settableCookieValue(value) {
		return dst
	}
	if len(dst) > 0 {
		dst = append(dst, "; "...)
	}
	if len(name) == 0 {
		return append(dst, value...)
	}
	return appendCookiePair(dst, name, value)
}

// appendCookiePairs appends the pairs of value that nextCookiePair finds, with their quotes.
func appendCookiePairs(dst, value []byte) []byte {
	for len(value) > 0 {
		var pair []byte
		pair, value = cutByte(value, ';')
		if _, _, _, ok := nextCookiePair(pair); !ok {
			continue
		}
		if len(dst) > 0 {
			dst = append(dst, "; "...)
		}
		dst = append(dst, ascii.TrimOWS(pair)...)
	}
	return dst
}

// deleteCookie removes all pairs of that name from b, in place, together with
// pairs that have nothing in them.
func deleteCookie(b, name []byte) []byte {
	kept := b[:0]
	for rest := b; len(rest) > 0; {
		var pair []byte
		pair, rest = cutByte(rest, ';')
		trimmed := ascii.TrimOWS(pair)
		if key, _ := cutCookiePair(trimmed); len(trimmed) == 0 || bytes.Equal(key, name) {
			continue
		}
		if len(kept) == 0 {
			kept = append(kept, trimmed...)
			continue
		}
		kept = append(kept, ';') // there is room: one stood before this pair
		kept = append(kept, pair...)
	}
	return kept
}

// cutCookiePair cuts "name=value" at its first equals sign; without one all is value.
func cutCookiePair(pair []byte) (name, value []byte) {
	if i := bytes.IndexByte(pair, '='); i >= 0 {
		return ascii.TrimOWS(pair[:i]), ascii.TrimOWS(pair[i+1:])
	}
	return nil, ascii.TrimOWS(pair)
}

// unquoteCookieValue takes the quotes off a value that stands between two.
func unquoteCookieValue(value []byte) []byte {
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		return value[1 : n-1]
	}
	return value
}

// appendCookiePair appends name=value, and quotes a value with blanks or commas.
func appendCookiePair(dst, name, value []byte) []byte {
	dst = append(append(dst, name...), '=')
	quoted := len(value) > 0 && value[0] != '"' && bytes.ContainsAny(value, " \t,")
	if quoted {
		dst = append(dst, '"')
	}
	if dst = append(dst, value...); quoted {
		dst = append(dst, '"')
	}
	return dst
}
