package target

import "bytes"

// AppendPath appends the path that an application should see for the path raw
// of a URI: beginning with '/', without dot segments, and percent-decoded.
//
// Dot segments go first, on the raw bytes, with %2E read as a dot. Only then are
// escapes decoded, and %2F is not: a slash that was sent as data does not turn into a
// separator. Empty segments stay. docs/design/0002-paths.md says why. An escape that is
// not one stays as it is.
func AppendPath(dst, raw []byte) []byte {
	base := len(dst)
	dst = AppendClean(dst, raw)
	n := bytes.IndexByte(dst[base:], '%')
	if n < 0 {
		return dst
	}
	w := base + n
	for r := w; r < len(dst); r++ {
		c := dst[r]
		if c == '%' && isEscape(dst[r:]) {
			if c = unescape(dst[r:]); c == '/' {
				w += copy(dst[w:], "%2")
				c = 'F'
			}
			r += 2
		}
		dst[w] = c
		w++
	}
	return dst[:w]
}

// AppendClean appends raw without its dot segments (RFC 3986 §5.2.4, with %2E
// read as a dot) and with a '/' in front if it has none. Nothing else changes.
func AppendClean(dst, raw []byte) []byte {
	base := len(dst)
	if len(raw) > 0 && raw[0] == '/' {
		raw = raw[1:]
	}
	if bytes.IndexByte(raw, '.') < 0 && bytes.IndexByte(raw, '%') < 0 {
		dst = append(dst, '/')
		return append(dst, raw...)
	}
	for last := false; !last; {
		segment := raw
		slash := bytes.IndexByte(raw, '/')
		if last = slash < 0; !last {
			segment, raw = raw[:slash], raw[slash+1:]
		}
		dots := countDots(segment)
		if dots == 0 {
			dst = append(dst, '/')
			dst = append(dst, segment...)
			continue
		}
		if dots == 2 {
			dst = dst[:base+max(0, bytes.LastIndexByte(dst[base:], '/'))]
		}
		if last {
			dst = append(dst, '/')
		}
	}
	return dst
}

// countDots returns 1 for the segment ".", 2 for "..", in either spelling, and
// 0 for every other.
func countDots(segment []byte) int {
	n := 0
	for len(segment) > 0 {
		switch {
		case n == 2:
			return 0
		case segment[0] == '.':
			segment = segment[1:]
		case isEscape(segment) && unescape(segment) == '.':
			segment = segment[3:]
		default:
			return 0
		}
		n++
	}
	return n
}

// AppendSafePath appends raw as it may stand in a request line: what RFC 3986
// §3.3 allows in a path, and every well-formed escape, stays; everything else is escaped.
func AppendSafePath(dst, raw []byte) []byte {
	for i, c := range raw {
		if c == '%' && isEscape(raw[i:]) || escapeClasses[c]&uint8(Path) != 0 {
			dst = append(dst, c)
		} else {
			dst = appendEscaped(dst, c)
		}
	}
	return dst
}

// AppendSafeQuery is AppendSafePath for a query or a fragment, in which more is
// allowed and '%' may stand alone.
func AppendSafeQuery(dst, raw []byte) []byte {
	for _, c := range raw {
		if targetClasses[c]&queryByte != 0 {
			dst = append(dst, c)
		} else {
			dst = appendEscaped(dst, c)
		}
	}
	return dst
}

// AppendVisible appends raw with only that escaped which would end the path in a
// request line: blanks, control characters, '?' and '#'.
func AppendVisible(dst, raw []byte) []byte {
	for _, c := range raw {
		if c > 0x20 && c != 0x7f && c != '?' && c != '#' {
			dst = append(dst, c)
		} else {
			dst = appendEscaped(dst, c)
		}
	}
	return dst
}
