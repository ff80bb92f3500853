package field

import (
	"encoding/binary"

	"github.com/gallop-http/gallop/internal/ascii"
)

// A List stores an added field as the line that HTTP/1 sends. While fields are only added, the storage is therefore
// the whole field section, and writing it is one copy.

// AppendLines appends the fields to dst as lines, in order, except those whose ID is in skip.
func (l *List) AppendLines(dst []byte, skip IDs) []byte {
	if len(l.fields) == 0 {
		return dst
	}
	lines, ok := l.Lines()
	if !ok {
		return l.appendEach(dst, skip)
	}
	if l.HasNone(skip) {
		return append(dst, lines...)
	}
	from := 0 // lines[from:] are still to be appended
	fields := l.fields
	for i := range fields {
		if f := &fields[i]; skip.has(f.ID) {
			dst = append(dst, lines[from:f.NameOff]...)
			from = int(f.ValueOff+f.ValueLen) + len("\r\n")
		}
	}
	return append(dst, lines[from:]...)
}

// appendEach is AppendLines for fields that are stored in any way.
func (l *List) appendEach(dst []byte, skip IDs) []byte {
	for i := range l.fields {
		if f := &l.fields[i]; !skip.has(f.ID) {
			dst = append(append(dst, l.name(f)...), ':', ' ')
			dst = append(append(dst, l.value(f)...), '\r', '\n')
		}
	}
	return dst
}

// prefix is how the line of a known name begins: with the name, a colon and a blank.
type prefix struct {
	text   [maxPrefix]byte
	length uint8
}

// maxPrefix is the room that AddFirst needs for a name. Add leaves as much, so that AddFirst has it the next time.
const maxPrefix = maxKnown + len(": ")

var prefixes = buildPrefixes()

func buildPrefixes() (t [numIDs]prefix) {
	for id, name := range names {
		t[id].length = uint8(copy(t[id].text[:], name+": "))
	}
	return t
}

// AddFirst appends a field with the usual spelling of its known name, if no field has this ID yet, and if value is
// visible ASCII without blanks at its ends. Otherwise AddFirst changes nothing and reports false. It may also refuse
// a field for which the list has to grow.
//
// Setting fields is most of the work that a handler causes here. So AddFirst copies a name as an array, which takes a
// few wide moves, and looks at the bytes of a value while it copies them.
func (l *List) AddFirst(id ID, value []byte) bool {
	p := &prefixes[id]
	start, n := len(l.own), len(l.fields)
	size := len(p.text) + len(value) + len("\r\n") // at most
	if l.borrowed || l.first[id] != 0 || size > cap(l.own)-start || n >= min(cap(l.fields), 1<<16-1) {
		return false
	}
	own := l.own[:start+size]
	*(*[len(p.text)]byte)(own[start:]) = p.text
	at := start + int(p.length)
	end := at + len(value)
	if !copyUsual(own[at:end], value) {
		return false
	}
	own[end], own[end+1] = '\r', '\n'
	own = own[:end+2]
	if l.lines == start {
		l.lines = len(own)
	}
	l.own, l.buf = own, own
	l.fields = l.fields[:n+1]
	f := &l.fields[n]
	f.NameOff, f.NameLen = uint32(start), uint16(p.length)-uint16(len(": "))
	f.ValueOff, f.ValueLen = uint32(at), uint32(len(value))
	f.ID = id
	l.seen |= 1 << id
	l.first[id] = uint16(n + 1)
	return true
}

// copyUsual copies a value to dst, which has the same length, and reports whether the value is visible ASCII without
// blanks at its ends. Blanks inside do not matter.
func copyUsual(dst, value []byte) bool {
	n := len(value)
	if n == 0 || value[0] == ' ' || value[n-1] == ' ' {
		return false
	}
	if n < 8 {
		return copyShort(dst, value)
	}
	last := ascii.Word(value, n-8)
	odd := ascii.Odd(last)
	for i := 0; i < n-8; i += 8 {
		w := ascii.Word(value, i)
		odd |= ascii.Odd(w)
		binary.LittleEndian.PutUint64(dst[i:], w)
	}
	binary.LittleEndian.PutUint64(dst[n-8:], last)
	return odd == 0
}

// copyShort is copyUsual for less than eight bytes.
func copyShort(dst, value []byte) bool {
	odd := false
	for i, c := range value {
		dst[i] = c
		odd = odd || c-' ' > '~'-' '
	}
	return !odd
}
