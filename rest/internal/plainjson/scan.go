package plainjson

import (
	"sync"
	"unicode/utf8"
)

// decoder reads data from at on. Its methods return false for what is wrong, or better left to others; where it
// is then means nothing.
type decoder struct {
	data    []byte
	at      int
	depth   int
	scratch []byte // strings with escapes
}

var decoders = sync.Pool{New: func() any { return &decoder{scratch: make([]byte, 0, 512)} }}

// maxScratch is how large a scratch is kept for the next decoder.
const maxScratch = 64 << 10

func newDecoder(data []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.data, d.at, d.depth = data, 0, 0
	return d
}

func (d *decoder) release() {
	d.data = nil
	if cap(d.scratch) <= maxScratch {
		decoders.Put(d)
	}
}

// space passes over white space.
func (d *decoder) space() {
	for d.at < len(d.data) {
		if c := d.data[d.at]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return
		}
		d.at++
	}
}

// peek returns the next byte behind white space, 0 at the end.
func (d *decoder) peek() byte {
	if d.at < len(d.data) && d.data[d.at] > ' ' {
		return d.data[d.at]
	}
	if d.space(); d.at < len(d.data) {
		return d.data[d.at]
	}
	return 0
}

// is passes over a word.
func (d *decoder) is(word string) bool {
	if len(d.data)-d.at < len(word) || string(d.data[d.at:d.at+len(word)]) != word {
		return false
	}
	d.at += len(word)
	return true
}

// down reports whether values within another are followed. d.depth-- ends what it began.
func (d *decoder) down() bool {
	d.depth++
	return d.depth < maxDepth
}

// number passes over a number (RFC 8259 §6) and returns it.
func (d *decoder) number() (text []byte, ok bool) {
	from, i, data := d.at, d.at, d.data
	if i < len(data) && data[i] == '-' {
		i++
	}
	switch digits := digitsAt(data, i); {
	case digits == 0, digits > 1 && data[i] == '0':
		return nil, false
	default:
		i += digits
	}
	if i < len(data) && data[i] == '.' {
		digits := digitsAt(data, i+1)
		if digits == 0 {
			return nil, false
		}
		i += 1 + digits
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		digits := digitsAt(data, i)
		if digits == 0 {
			return nil, false
		}
		i += digits
	}
	d.at = i
	return data[from:i], true
}

func digitsAt(data []byte, i int) (n int) {
	for i+n < len(data) && '0' <= data[i+n] && data[i+n] <= '9' {
		n++
	}
	return n
}

// skip passes over a value.
func (d *decoder) skip() bool {
	switch c := d.peek(); c {
	case '"':
		return d.skipText()
	case 't':
		return d.is("true")
	case 'f':
		return d.is("false")
	case 'n':
		return d.is("null")
	case '[':
		return d.elements(d.skip)
	case '{':
		return d.members(func([]byte) bool { return d.skip() })
	default:
		_, ok := d.number()
		return ok
	}
}

// skipText passes over a string, in which bytes need not be UTF-8.
func (d *decoder) skipText() bool {
	for i := d.at + 1; ; {
		if i += plainPrefix(d.data, i); i == len(d.data) {
			return false
		}
		switch c := d.data[i]; {
		case c == '"':
			d.at = i + 1
			return true
		case c == '\\':
			var none [utf8.UTFMax]byte
			if _, i = unescape(none[:0], d.data, i+1); i < 0 {
				return false
			}
		case c < ' ':
			return false
		default:
			i++
		}
	}
}

// elements passes over a list. one is called at each of its values, to pass over it.
func (d *decoder) elements(one func() bool) bool {
	if !d.down() {
		return false
	}
	d.at++
	if d.peek() == ']' {
		d.at++
		d.depth--
		return true
	}
	for {
		if d.space(); !one() {
			return false
		}
		switch d.peek() {
		case ',':
			d.at++
		case ']':
			d.at++
			d.depth--
			return true
		default:
			return false
		}
	}
}

// members passes over an object. one is called with each name at its value, to pass over that.
func (d *decoder) members(one func(name []byte) bool) bool {
	if !d.down() {
		return false
	}
	d.at++
	if d.peek() == '}' {
		d.at++
		d.depth--
		return true
	}
	for {
		if d.peek() != '"' {
			return false
		}
		name, ok := d.text()
		if !ok || d.peek() != ':' {
			return false
		}
		d.at++
		if d.space(); !one(name) {
			return false
		}
		switch d.peek() {
		case ',':
			d.at++
		case '}':
			d.at++
			d.depth--
			return true
		default:
			return false
		}
	}
}
