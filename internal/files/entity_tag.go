package files

import "bytes"

// opaqueTag returns the tag without the prefix of a weak one.
func opaqueTag(tag []byte) []byte { return bytes.TrimPrefix(tag, []byte("W/")) }

// IsStrong reports whether tag is a strong entity tag, with its quotes (RFC 9110 §8.8.1).
func IsStrong(tag []byte) bool { return len(tag) > 0 && tag[0] == '"' }

// cutTag cuts an entity tag (RFC 9110 §8.8.3) off the start of b. tag is nil if b does not start with one.
func cutTag(b []byte) (tag, rest []byte) {
	n := len(b) - len(opaqueTag(b))
	if n == len(b) || b[n] != '"' {
		return nil, b
	}
	for i := n + 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return b[:i+1], b[i+1:]
		case c <= ' ', c == 0x7f:
			return nil, b
		}
	}
	return nil, b
}

// HasTag reports whether a list of entity tags contains exactly this one.
func HasTag(list []byte, spelled string) bool {
	for {
		tag, rest := cutTag(bytes.TrimLeft(list, " \t,"))
		if tag == nil || string(tag) == spelled {
			return tag != nil
		}
		list = rest
	}
}
