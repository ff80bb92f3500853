package plainjson

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Strings are processed eight bytes at a time. special sets the highest bit of each byte that is a control character,
// a quote or a backslash. Bits after the first one may be wrong.
func special(x uint64) uint64 {
	quote, slash := x^(ones*'"'), x^(ones*'\\')
	return ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highest
}

// ones has 1 in each of its eight bytes, highest has the highest bit of each.
const ones, highest = 0x0101010101010101, 0x8080808080808080

// odd is like special, and also marks bytes that are not ASCII.
func odd(x uint64) uint64 { return special(x) | x&highest }

// plainPrefix returns how many bytes of s, from i on, are plain.
func plainPrefix[T string | []byte](s T, i int) int {
	from := i
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		if m := odd(x); m != 0 {
			return i - from + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' && s[i] < utf8.RuneSelf {
		i++
	}
	return i - from
}

const hex = "0123456789abcdef"

// appendQuoted appends s as a JSON string. It escapes the same characters as encoding/json: control characters,
// quotes, backslashes, the line separators of JavaScript and bytes that are not UTF-8. If html is true, it also
// escapes <, > and &.
func appendQuoted(b []byte, s string, html bool) []byte {
	b = append(b, '"')
	for i := 0; ; {
		n := plainPrefix(s, i)
		if html {
			b = appendHTML(b, s[i:i+n])
		} else {
			b = append(b, s[i:i+n]...)
		}
		if i += n; i == len(s) {
			return append(b, '"')
		}
		if c := s[i]; c < utf8.RuneSelf {
			b = appendEscaped(b, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, `\ufffd`...)
		case r == '\u2028' || r == '\u2029':
			b = append(b, `\u202`...)
			b = append(b, hex[r&0xf])
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
}

// appendHTML appends s, which is plain, and escapes <, > and &.
func appendHTML(b []byte, s string) []byte {
	from := 0
	for i := htmlIndex(s, 0); i < len(s); i = htmlIndex(s, from) {
		b = append(b, s[from:i]...)
		b = append(b, '\\', 'u', '0', '0', hex[s[i]>>4], hex[s[i]&0xf])
		from = i + 1
	}
	return append(b, s[from:]...)
}

// htmlIndex returns the index of the first <, > or & in s from i on, or len(s). Like plainPrefix, it processes eight
// bytes at a time. < and > differ in one bit.
func htmlIndex(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		angle, and := x&^(ones*2)^(ones*'<'), x^(ones*'&')
		if m := ((angle-ones)&^angle | (and-ones)&^and) & highest; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(s) && s[i] != '<' && s[i] != '>' && s[i] != '&' {
		i++
	}
	return i
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}

// textEnd returns the index of the first quote, backslash or control character in data from i on, or len(data). all
// has the highest bit of a byte set if any byte before that is not ASCII.
func textEnd(data []byte, i int) (end int, all uint64) {
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		if m := special(x); m != 0 {
			n := bits.TrailingZeros64(m) / 8
			return i + n, all | x&(1<<(8*n)-1)
		}
		all |= x
	}
	for i < len(data) && data[i] >= ' ' && data[i] != '"' && data[i] != '\\' {
		all |= uint64(data[i])
		i++
	}
	return i, all
}

// text reads the string that begins with the quote at d.at. The returned bytes are valid until the decoder continues.
// As with encoding/json, bytes that are not UTF-8 become U+FFFD.
func (d *decoder) text() (b []byte, ok bool) {
	from := d.at + 1
	end, all := textEnd(d.data, from)
	switch {
	case end == len(d.data) || d.data[end] == '\\':
		return d.pieces()
	case d.data[end] != '"':
		d.at = end
		return nil, d.fail(inText)
	}
	d.at = end + 1
	if b = d.data[from:end]; all&highest == 0 {
		return b, true
	}
	return valid(b), true
}

// pieces is text for a string that has escapes or does not end in the data.
func (d *decoder) pieces() (b []byte, ok bool) {
	b = d.scratch[:0]
	d.at++
	for from := d.offset(); ; {
		b = slices.Grow(d.spill(b, from), 2*wordSize)
		data := d.data[d.at:]
		data = data[:min(len(data), cap(b)-len(b)-wordSize)]
		var n int
		b, n = unescapeShort(b, data)
		if d.at += n; d.at == len(d.data) {
			if !d.more() {
				return nil, d.fail(inText)
			}
			continue
		}
		switch c := d.data[d.at]; {
		case c == '"':
			d.at++
			d.scratch = b
			return valid(d.joined(b)), true
		case c == '\\':
			if b, ok = d.escape(b); !ok {
				return nil, false
			}
		case c < ' ':
			return nil, d.fail(inText)
		}
	}
}

// wordSize is the number of bytes of a string that are examined and copied at a time.
const wordSize = 8

// unescapeShort appends the text that data encodes, and returns how many bytes of data that covers. It stops at a
// quote, a control character, or an escape other than the two-byte ones. b must have room for data and one more word.
func unescapeShort(b, data []byte) ([]byte, int) {
	room := b[len(b) : len(b)+len(data)+wordSize]
	i, n := 0, 0
	for i+wordSize <= len(data) {
		x := binary.LittleEndian.Uint64(data[i:])
		binary.LittleEndian.PutUint64(room[n:], x)
		m := special(x)
		if m == 0 {
			i, n = i+wordSize, n+wordSize
			continue
		}
		plain := bits.TrailingZeros64(m) / 8
		if i, n = i+plain, n+plain; data[i] != '\\' || i+1 == len(data) || escapes[data[i+1]] == 0 {
			return b[:len(b)+n], i
		}
		room[n] = escapes[data[i+1]]
		i, n = i+2, n+1
	}
	for i < len(data) {
		c := data[i]
		switch {
		case c == '\\' && i+1 < len(data) && escapes[data[i+1]] != 0:
			c = escapes[data[i+1]]
			i++
		case c == '\\' || c == '"' || c < ' ':
			return b[:len(b)+n], i
		}
		room[n] = c
		i, n = i+1, n+1
	}
	return b[:len(b)+n], i
}

// escapes maps the letter after a backslash to the character that it stands for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// valid returns b, with each byte that is not UTF-8 replaced by U+FFFD.
func valid(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	good := make([]byte, 0, len(b)+len(b)/2)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		good = utf8.AppendRune(good, r)
		b = b[n:]
	}
	return good
}

// escape appends the character that an escape in a string stands for, and consumes the escape.
func (d *decoder) escape(b []byte) (text []byte, ok bool) {
	const longest = len(`\ud83d\ude00`)
	for {
		left := d.data[d.at:]
		text, n := unescape(b, left, 1)
		open := n < 0 || n == len(left) || left[n] == '\\' // it may be incomplete, or half of a surrogate pair
		if open && len(left) < longest && d.more() {
			continue
		}
		if n < 0 {
			return b, d.fail(inText)
		}
		d.at += n
		return text, true
	}
}

// unescape appends the character that follows a backslash at i, and returns the index after it, or -1 if it is
// invalid.
func unescape(b, data []byte, i int) ([]byte, int) {
	if i == len(data) {
		return b, -1
	}
	if c := escapes[data[i]]; c != 0 {
		return append(b, c), i + 1
	}
	if data[i] != 'u' {
		return b, -1
	}
	r := unit(data, i+1)
	if i += 5; r < 0 {
		return b, -1
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(b, r), i
	}
	if i+1 < len(data) && data[i] == '\\' && data[i+1] == 'u' {
		if both := utf16.DecodeRune(r, unit(data, i+2)); both != utf8.RuneError {
			return utf8.AppendRune(b, both), i + 6
		}
	}
	return utf8.AppendRune(b, utf8.RuneError), i // half of a surrogate pair
}

// unit returns the value of four hexadecimal digits, or -1 if they are invalid.
func unit(data []byte, i int) (r rune) {
	if i+4 > len(data) {
		return -1
	}
	for _, c := range data[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
