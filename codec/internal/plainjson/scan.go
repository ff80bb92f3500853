package plainjson

import (
	"sync"
	"unicode/utf8"
)

// decoder reads data from at on. Its methods return false for what is wrong, or better left to others; where it
// is then means nothing, unless it reads a stream.
type decoder struct {
	data     []byte
	at       int
	depth    int
	deepest  int    // the first depth that is too deep
	wrong    int    // the depth of the values around one of the wrong type, -1 if there is none: see stream.note
	scratch  []byte // strings with escapes
	whole    whole
	names    nameTable
	elements []any       // of lists whose end is not there yet
	strings  []string    // the same of lists of strings
	members  []anyMember // the same of objects
	one      string      // an element that is no string
	shares   bool        // whether small values share memory
	shared   shared
	s        *stream
}

var decoders = sync.Pool{New: func() any { return &decoder{scratch: make([]byte, 0, 512)} }}

// maxScratch is how large a scratch is kept for the next decoder.
const maxScratch = 64 << 10

func newDecoder(data []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.data, d.at, d.depth, d.deepest, d.wrong = data, 0, 0, maxDepth, -1
	d.shares = len(data) >= leastSharing
	return d
}

func (d *decoder) release() {
	d.data, d.s, d.whole = nil, nil, whole{}
	if d.shares {
		d.shared, d.names = shared{}, nameTable{} // or names keep blocks
	}
	clear(d.elements)
	clear(d.strings)
	clear(d.members)
	d.elements, d.strings, d.members = d.elements[:0], d.strings[:0], d.members[:0]
	if cap(d.scratch) <= maxScratch && cap(d.elements) <= maxScratch/16 && cap(d.strings) <= maxScratch/16 && cap(d.members) <= maxScratch/32 {
		decoders.Put(d)
	}
}

// offset returns where in the text the decoder is.
func (d *decoder) offset() int64 {
	if d.s == nil {
		return int64(d.at)
	}
	return d.s.base + int64(d.at)
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
	if c := d.first(); c > ' ' {
		return c
	}
	d.space()
	return d.first()
}

// first returns the next byte, 0 at the end of the data.
func (d *decoder) first() byte {
	if d.at < len(d.data) {
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
	switch d.first() {
	case '"':
		return d.skipText()
	case 't':
		return d.is("true")
	case 'f':
		return d.is("false")
	case 'n':
		return d.is("null")
	case '[':
		more, ok := d.enter(']')
		for more {
			if d.peek(); !d.skip() {
				return false
			}
			more, ok = d.next(']', inElements)
		}
		return ok
	case '{':
		more, ok := d.enter('}')
		for context := inFirstName; more; context = inName {
			if d.peek() != '"' {
				return d.fail(context)
			}
			if !d.skipText() || !d.colon() || !d.skip() {
				return false
			}
			more, ok = d.next('}', inMembers)
		}
		return ok
	default:
		_, ok := d.number()
		return ok
	}
}

// skipText passes over a string, in which bytes need not be UTF-8.
func (d *decoder) skipText() bool {
	for d.at++; ; {
		if d.at, _ = textEnd(d.data, d.at); d.at == len(d.data) {
			if !d.more() {
				return d.fail(inText)
			}
			continue
		}
		switch d.data[d.at] {
		case '"':
			d.at++
			return true
		case '\\':
			var none [utf8.UTFMax]byte
			if _, ok := d.escape(none[:0]); !ok {
				return false
			}
		default:
			return d.fail(inText)
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

// Lists and objects are passed over in one way:
//
//	more, ok := d.enter(']')
//	for more {
//		… // pass over a value, in an object over its name and a colon before it
//		more, ok = d.next(']', inElements)
//	}
//	return ok

// enter passes over the bracket that a list or an object begins with, and reports whether there is anything in it. If not, it
// passes over the other bracket, which is end.
func (d *decoder) enter(end byte) (more, ok bool) {
	if !d.down() {
		return false, false
	}
	d.at++
	if d.peek() == end {
		return false, d.up()
	}
	return true, true
}

// next passes over the comma or the bracket behind a value, and reports whether another value follows.
func (d *decoder) next(end byte, context string) (more, ok bool) {
	c := d.first()
	if c <= ' ' {
		c = d.peek()
	}
	switch c {
	case ',':
		d.at++
		return true, true
	case end:
		return false, d.up()
	}
	return false, d.fail(context)
}

// name reads the name of a member. Its bytes are valid until the decoder goes on.
func (d *decoder) name(context string) (name []byte, ok bool) {
	if d.first() != '"' && d.peek() != '"' {
		return nil, d.fail(context)
	}
	return d.text()
}

// colon passes over all that is between a name and its value.
func (d *decoder) colon() bool {
	if d.first() != ':' && d.peek() != ':' {
		return d.fail(inColon)
	}
	if d.at++; d.first() <= ' ' {
		d.space()
	}
	return true
}
