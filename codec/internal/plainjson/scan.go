package plainjson

import (
	"sync"
	"unicode/utf8"
)

// decoder reads data from at on. Its methods return false for what is wrong, or better left to others; where it
// is then means nothing, unless it reads a stream.
type decoder struct {
	data    []byte
	at      int
	depth   int
	deepest int    // the first depth that is too deep
	wrong   int    // the depth of the values around one of the wrong type, -1 if there is none: see stream.note
	scratch []byte // strings with escapes
	whole   whole
	names   nameTable
	stack   []any // elements of lists whose end is not there yet
	s       *stream
}

var decoders = sync.Pool{New: func() any { return &decoder{scratch: make([]byte, 0, 512)} }}

// maxScratch is how large a scratch is kept for the next decoder.
const maxScratch = 64 << 10

func newDecoder(data []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.data, d.at, d.depth, d.deepest, d.wrong = data, 0, 0, maxDepth, -1
	return d
}

func (d *decoder) release() {
	d.data, d.s, d.whole = nil, nil, whole{}
	clear(d.stack)
	d.stack = d.stack[:0]
	if cap(d.scratch) <= maxScratch && cap(d.stack) <= maxScratch/16 {
		decoders.Put(d)
	}
}

// more reads more data and reports whether there was any. It drops the data before d.at, so all positions change,
// also at the end of the text.
func (d *decoder) more() bool { return d.s != nil && d.s.read(d) }

// fail returns false, which ends the decoding. context is the beginning of a text that is as wrong as this one if it
// goes on with the data at d.at.
func (d *decoder) fail(context string) bool {
	if d.s != nil {
		d.s.context = context
	}
	return false
}

// space passes over white space.
func (d *decoder) space() {
	for {
		for d.at < len(d.data) {
			if c := d.data[d.at]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return
			}
			d.at++
		}
		if !d.more() {
			return
		}
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
	for len(d.data)-d.at < len(word) {
		if !d.more() {
			return d.fail(inValue)
		}
	}
	if string(d.data[d.at:d.at+len(word)]) != word {
		return d.fail(inValue)
	}
	d.at += len(word)
	return true
}

// down reports whether values within another are followed. up ends what it began.
func (d *decoder) down() bool {
	if d.depth++; d.depth < d.deepest {
		return true
	}
	return d.fail(inTooDeep)
}

// up passes over the last byte of what down began.
func (d *decoder) up() bool {
	d.at++
	d.depth--
	d.wrong = min(d.wrong, d.depth)
	return true
}

// number passes over a number (RFC 8259 §6) and returns it.
func (d *decoder) number() (text []byte, ok bool) {
	for {
		n, ok := numberAt(d.data[d.at:])
		if n < len(d.data)-d.at || !d.longer(n) {
			if !ok {
				return nil, d.fail(inValue)
			}
			d.at += n
			return d.data[d.at-n : d.at], true
		}
	}
}

// longer is more for a number of n bytes that may go on. A long one has to become twice as long, so that what comes
// byte by byte is not looked at as often.
func (d *decoder) longer(n int) bool {
	const long = 4 << 10
	if !d.more() {
		return false
	}
	for n > long && len(d.data)-d.at < 2*n && d.more() {
	}
	return true
}

// numberAt returns how long the number is that data begins with, or where it is wrong.
func numberAt(data []byte) (i int, ok bool) {
	if i < len(data) && data[i] == '-' {
		i++
	}
	switch digits := digitsAt(data, i); {
	case digits == 0:
		return i, false
	case data[i] == '0':
		i++ // what is behind it belongs to something else
	default:
		i += digits
	}
	if i < len(data) && data[i] == '.' {
		digits := digitsAt(data, i+1)
		if i += 1 + digits; digits == 0 {
			return i, false
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		digits := digitsAt(data, i)
		if i += digits; digits == 0 {
			return i, false
		}
	}
	return i, true
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
		return d.members((*decoder).noName, func([]byte) bool { return d.skip() })
	default:
		_, ok := d.number()
		return ok
	}
}

// skipText passes over a string, in which bytes need not be UTF-8.
func (d *decoder) skipText() bool {
	for d.at++; ; {
		if d.at += plainPrefix(d.data, d.at); d.at == len(d.data) {
			if !d.more() {
				return d.fail(inText)
			}
			continue
		}
		switch c := d.data[d.at]; {
		case c == '"':
			d.at++
			return true
		case c == '\\':
			var none [utf8.UTFMax]byte
			if _, ok := d.escape(none[:0]); !ok {
				return false
			}
		case c < ' ':
			return d.fail(inText)
		default:
			d.at++
		}
	}
}

// raw passes over a value and returns its text: a view of the data, or fresh memory.
func (d *decoder) raw() (text []byte, ok bool) {
	d.space()
	if d.s != nil {
		return d.s.raw(d)
	}
	from := d.at
	if !d.skip() {
		return nil, false
	}
	return d.data[from:d.at:d.at], true
}

// elements passes over a list. one is called at each of its values, to pass over it.
func (d *decoder) elements(one func() bool) bool {
	if !d.down() {
		return false
	}
	d.at++
	if d.peek() == ']' {
		return d.up()
	}
	for {
		if d.space(); !one() {
			return false
		}
		switch d.peek() {
		case ',':
			d.at++
		case ']':
			return d.up()
		default:
			return d.fail(inElements)
		}
	}
}

// members passes over an object. one is called with each name, which name reads, at its value, to pass over that.
func (d *decoder) members(name func(*decoder) ([]byte, bool), one func(name []byte) bool) bool {
	if !d.down() {
		return false
	}
	d.at++
	if d.peek() == '}' {
		return d.up()
	}
	for context := inFirstName; ; context = inName {
		if d.peek() != '"' {
			return d.fail(context)
		}
		name, ok := name(d)
		if !ok {
			return false
		}
		if d.peek() != ':' {
			return d.fail(inColon)
		}
		d.at++
		if d.space(); !one(name) {
			return false
		}
		switch d.peek() {
		case ',':
			d.at++
		case '}':
			return d.up()
		default:
			return d.fail(inMembers)
		}
	}
}

// noName passes over the name of a member that nobody asks for.
func (d *decoder) noName() (none []byte, ok bool) { return nil, d.skipText() }

// name reads the name of a member, which holds until the next one is read.
func (d *decoder) name() (name []byte, ok bool) {
	if name, ok = d.text(); d.s != nil {
		d.s.name = append(d.s.name[:0], name...)
		name = d.s.name
	}
	return name, ok
}
