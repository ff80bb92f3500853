package cookie

import (
	"bytes"

	"github.com/gallop-http/gallop/internal/ascii"
)

// The value of a Cookie field has the form "name=value; name=value" (RFC 6265 §4.2.1). The functions in this file read
// that value or change it in place. The names and values that they return are views of it.

// Next cuts the first pair off b. A pair without an equals sign is a value without a name. Next removes blanks around
// name and value, and quotes around the value. It skips empty pairs, and pairs whose value has a quote or a
// backslash inside. At the end of b, ok is false.
func Next(b []byte) (name, value, rest []byte, ok bool) {
	for len(b) > 0 {
		var pair []byte
		pair, b = cut(b)
		name, value = CutPair(pair)
		value = unquote(value)
		if (len(name) > 0 || len(value) > 0) && isParsable(value) {
			return name, value, b, true
		}
	}
	return nil, nil, nil, false
}

// Find returns the value of the first pair in b with this name. Names are case-sensitive.
func Find(b, name []byte) (value []byte, ok bool) {
	for len(b) > 0 {
		var key []byte
		if key, value, b, ok = Next(b); ok && bytes.Equal(key, name) {
			return value, true
		}
	}
	return nil, false
}

// Append appends a pair to dst, the value of a Cookie field. If the name is empty, Append appends the value alone. If
// the name is not a token, or if IsValue refuses the value, Append appends nothing.
func Append(dst, name, value []byte) []byte {
	if len(name) > 0 && !ascii.IsToken(name) || len(name) == 0 && len(value) == 0 || !IsValue(value) {
		return dst
	}
	if len(dst) > 0 {
		dst = append(dst, "; "...)
	}
	if len(name) == 0 {
		return append(dst, value...)
	}
	return appendPair(dst, name, value)
}

// AppendPairs appends the pairs of value that Next finds to dst, including their quotes.
func AppendPairs(dst, value []byte) []byte {
	for len(value) > 0 {
		var pair []byte
		pair, value = cut(value)
		if _, _, _, ok := Next(pair); !ok {
			continue
		}
		if len(dst) > 0 {
			dst = append(dst, "; "...)
		}
		dst = append(dst, ascii.TrimOWS(pair)...)
	}
	return dst
}

// Delete removes the pairs with this name and the empty pairs from b, in place.
func Delete(b, name []byte) []byte {
	kept := b[:0]
	for rest := b; len(rest) > 0; {
		var pair []byte
		pair, rest = cut(rest)
		trimmed := ascii.TrimOWS(pair)
		if key, _ := CutPair(trimmed); len(trimmed) == 0 || bytes.Equal(key, name) {
			continue
		}
		if len(kept) == 0 {
			kept = append(kept, trimmed...)
			continue
		}
		kept = append(kept, ';') // there is room, because b has one before this pair
		kept = append(kept, pair...)
	}
	return kept
}

// cut splits b at the first semicolon. Without a semicolon, the whole of b is part, and rest is nil.
func cut(b []byte) (part, rest []byte) {
	if i := bytes.IndexByte(b, ';'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// CutPair splits pair at its first equals sign, and removes blanks around both parts. Without an equals sign, the whole
// pair is the value.
func CutPair(pair []byte) (name, value []byte) {
	if i := bytes.IndexByte(pair, '='); i >= 0 {
		return ascii.TrimOWS(pair[:i]), ascii.TrimOWS(pair[i+1:])
	}
	return nil, ascii.TrimOWS(pair)
}

// unquote returns value without the pair of quotes around it, if there is one.
func unquote(value []byte) []byte {
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		return value[1 : n-1]
	}
	return value
}

// appendPair appends name=value to dst, with quotes around a value that contains a blank or a comma.
func appendPair(dst, name, value []byte) []byte {
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

// IsValue reports whether value may be sent in a cookie (RFC 6265 §4.1.1), with or without quotes around it. IsValue
// also accepts spaces and commas, which are sent in quotes.
func IsValue(value []byte) bool {
	for _, c := range unquote(value) {
		if !ascii.IsCookieOctet(c) && c != ' ' && c != ',' {
			return false
		}
	}
	return true
}

// isParsable reports whether value, without the quotes around it, is accepted from a peer.
func isParsable(value []byte) bool {
	for _, c := range value {
		if c == '"' || c == '\\' || c == ';' {
			return false
		}
	}
	return true
}
