package plainjson

import (
	"sync"
	"unicode/utf8"
)

// decoder reads data from at on. Its methods return false for input that is invalid, or better left to encoding/json.
// The position then has no meaning, unless the decoder reads a stream.
type decoder struct {
	data     []byte
	at       int
	depth    int
	deepest  int    // the first depth that is too deep
	wrong    int    // depth of the values around a value of the wrong type, or -1; see stream.note
	scratch  []byte // for strings with escapes
	whole    whole
	names    nameTable
	elements []any       // elements of unfinished lists
	strings  []string    // elements of unfinished lists of strings
	members  []anyMember // members of unfinished objects
	one      string      // an element of a list of strings that is decoded with reflection
	shares   bool        // small values share memory
	shared   shared
	s        *stream
}

var decoders = sync.Pool{New: func() any { return &decoder{scratch: make([]byte, 0, 512)} }}

// maxScratch is the maximum size of a scratch that is kept for the next decoder.
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
		d.shared, d.names = shared{}, nameTable{} // otherwise names would keep blocks alive
	}
	clear(d.elements)
	clear(d.strings)
	clear(d.members)
	d.elements, d.strings, d.members = d.elements[:0], d.strings[:0], d.members[:0]
	if cap(d.scratch) <= maxScratch && cap(d.elements) <= maxScratch/16 && cap(d.strings) <= maxScratch/16 && cap(d.members) <= maxScratch/32 {
		decoders.Put(d)
	}
}

// offset returns the decoder's position in the text.
func (d *decoder) offset() int64 {
	if d.s == nil {
		return int64(d.at)
	}
	return d.s.base + int64(d.at)
}

// more reads more data and reports whether there was any. It drops the data before d.at, so all positions change,
// also at the end of the text.
func (d *decoder) more() bool { return d.s != nil && d.s.read(d) }

// fail returns false, which ends the decoding. context is the beginning of a text that is invalid in the same way as
// this one, if the data at d.at follows it.
func (d *decoder) fail(context string) bool {
	if d.s != nil {
		d.s.context = context
	}
	return false
}

// space consumes white space.
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

// peek consumes white space and returns the next byte, or 0 at the end.
func (d *decoder) peek() byte {
	if c := d.first(); c > ' ' {
		return c
	}
	d.space()
	return d.first()
}

// first returns the next byte, or 0 at the end of the data.
func (d *decoder) first() byte {
	if d.at < len(d.data) {
		return d.data[d.at]
	}
	return 0
}

// is consumes a word, and reports whether it was there.
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

// down enters a nested value and reports whether the depth is allowed. up leaves it.
func (d *decoder) down() bool {
	if d.depth++; d.depth < d.deepest {
		return true
	}
	return d.fail(inTooDeep)
}

// up consumes the last byte of a value that down has entered.
func (d *decoder) up() bool {
	d.at++
	d.depth--
	d.wrong = min(d.wrong, d.depth)
	return true
}

// number consumes a number (RFC 8259 §6) and returns it.
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

// longer is more for a number of n bytes that may continue. A long number must double in length before it is scanned
// again, so that a number that arrives byte by byte is not scanned as often.
func (d *decoder) longer(n int) bool {
	const long = 4 << 10
	if !d.more() {
		return false
	}
	for n > long && len(d.data)-d.at < 2*n && d.more() {
	}
	return true
}

// numberAt returns the length of the number at the start of data, or the position of an error.
func numberAt(data []byte) (i int, ok bool) {
	if i < len(data) && data[i] == '-' {
		i++
	}
	switch digits := digitsAt(data, i); {
	case digits == 0:
		return i, false
	case data[i] == '0':
		i++ // whatever follows is not part of the number
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

// skip consumes a value.
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

// skipText consumes a string, whose bytes need not be UTF-8.
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

// raw consumes a value and returns its text: a view of the data, or new memory.
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

// Lists and objects are consumed in the same way:
//
//	more, ok := d.enter(']')
//	for more {
//		… // consume a value, in an object preceded by its name and a colon
//		more, ok = d.next(']', inElements)
//	}
//	return ok

// enter consumes the opening bracket of a list or an object, and reports whether anything is in it. If not, it also
// consumes the closing bracket, which is end.
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

// next consumes the comma or the bracket after a value, and reports whether another value follows.
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

// name reads the name of a member. Its bytes are valid until the decoder continues.
func (d *decoder) name(context string) (name []byte, ok bool) {
	if d.first() != '"' && d.peek() != '"' {
		return nil, d.fail(context)
	}
	return d.text()
}

// colon consumes everything between a name and its value.
func (d *decoder) colon() bool {
	if d.first() != ':' && d.peek() != ':' {
		return d.fail(inColon)
	}
	if d.at++; d.first() <= ' ' {
		d.space()
	}
	return true
}
