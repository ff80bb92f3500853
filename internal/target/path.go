package target

import "bytes"

// AppendPath appends the path that an application should see for the raw path of a URI. The result begins with '/',
// has no dot segments and no empty segments, and is percent-decoded.
//
// Merging slashes and removing dot segments works on the raw bytes, with %2E read as a dot. Escapes are decoded
// afterwards, except %2F, so a slash that was sent as data does not turn into a separator. docs/design/0002-paths.md
// says why. Invalid escapes are kept.
func AppendPath(dst, raw []byte) []byte {
	base := len(dst)
	return decodePath(appendClean(dst, raw, mergeSlashes), base)
}

// AppendWholePath is like AppendPath, but keeps empty segments.
func AppendWholePath(dst, raw []byte) []byte {
	base := len(dst)
	return decodePath(appendClean(dst, raw, keepSlashes), base)
}

// decodePath decodes the escapes in path[base:] in place, except %2F.
func decodePath(path []byte, base int) []byte {
	n := bytes.IndexByte(path[base:], '%')
	if n < 0 {
		return path
	}
	w := base + n
	for r := w; r < len(path); r++ {
		c := path[r]
		if c == '%' && isEscape(path[r:]) {
			if c = unescape(path[r:]); c == '/' {
				w += copy(path[w:], "%2")
				c = 'F'
			}
			r += 2
		}
		path[w] = c
		w++
	}
	return path[:w]
}

// AppendClean appends raw without dot segments (RFC 3986 §5.2.4, with %2E read as a dot). It adds a leading '/' if
// there is none. Nothing else changes.
func AppendClean(dst, raw []byte) []byte { return appendClean(dst, raw, keepSlashes) }

// AppendSent appends raw in the form for a request line. It is like AppendClean, but ".." also removes the empty
// segments before the segment that it removes. AppendPath maps the result and raw to the same path, so a proxy cannot
// approve one path and send another.
func AppendSent(dst, raw []byte) []byte { return appendClean(dst, raw, sendSlashes) }

// slashes says how empty segments of a path are treated.
type slashes uint8

const (
	keepSlashes  slashes = iota // they are ordinary segments
	sendSlashes                 // they stay, but ".." skips them
	mergeSlashes                // they are removed
)

// appendClean appends raw without dot segments and with a leading '/'.
func appendClean(dst, raw []byte, how slashes) []byte {
	base := len(dst)
	if len(raw) > 0 && raw[0] == '/' {
		raw = raw[1:]
	}
	if how != mergeSlashes && bytes.IndexByte(raw, '.') < 0 && bytes.IndexByte(raw, '%') < 0 {
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
		switch {
		case dots == 0 && (len(segment) > 0 || last || how != mergeSlashes):
			dst = append(dst, '/')
			dst = append(dst, segment...)
			continue
		case dots == 2:
			dst = dst[:base+withoutLast(dst[base:], how)]
		}
		if last {
			dst = append(dst, '/')
		}
	}
	return dst
}

// withoutLast returns the length of path without its last segment.
func withoutLast(path []byte, how slashes) int {
	if how == sendSlashes {
		path = bytes.TrimRight(path, "/")
	}
	return max(0, bytes.LastIndexByte(path, '/'))
}

// countDots returns 1 for the segment ".", 2 for "..", in either spelling, and 0 for every other segment.
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

// AppendSafePath appends raw in the form for a request line. It keeps the bytes that RFC 3986 §3.3 allows in a path
// and well-formed escapes, and escapes all other bytes.
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

// AppendSafeQuery is like AppendSafePath for a query or a fragment, which allow more bytes and a single '%'.
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

// AppendVisible appends raw and escapes only bytes that would end the path in a request line: blanks, control
// characters, '?' and '#'.
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
