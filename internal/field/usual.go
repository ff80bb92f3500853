package field

import (
	"encoding/binary"
	"math/bits"

	"github.com/gallop-http/gallop/internal/ascii"
)

// usualLine is the minimum number of bytes that AddUsual needs.
const usualLine = 16

// AddUsual adds the field whose line begins at b[at], where b are the borrowed bytes, if the line has the usual form.
// That means that its name, regardless of case, equals the name of the field at the same position in the previous
// message, because messages on a connection are alike. The value must be visible ASCII with one blank before and none
// after. AddUsual returns the length of the line including CRLF, and the ID. It returns 0 for any other line and for
// an incomplete one.
//
// Parsing spends most of its time here. So AddUsual looks at each byte once, eight at a time, and fills the field in
// place. Building the field elsewhere and copying it would wait for narrow stores.
func (l *List) AddUsual(b []byte, at int) (n int, id ID) {
	line, i := b[at:], len(l.fields)
	if len(line) < usualLine || i == cap(l.fields) {
		return 0, Unknown
	}
	id = l.fields[:i+1][i].ID
	p := &patterns[id]
	if id == Unknown || p.differ(line, 0, 0)|p.differ(line, 0, 1) != 0 || p.words > 2 && !p.goesOn(line) {
		return 0, Unknown
	}
	start := int(p.length) + len(": ")
	stop, odd := start, uint64(0)
	for ; stop <= len(line)-8; stop += 8 {
		if odd = ascii.Odd(binary.LittleEndian.Uint64(line[stop:])); odd != 0 {
			break
		}
	}
	if odd == 0 { // less than a word is left: the zeros after it are odd, too
		seen := stop - (len(line) - 8)
		odd = ascii.Odd(binary.LittleEndian.Uint64(line[len(line)-8:]) >> (8 * uint(seen)))
	}
	stop += bits.TrailingZeros64(odd) >> 3
	if stop > len(line)-2 || binary.LittleEndian.Uint16(line[stop:]) != '\r'|'\n'<<8 ||
		line[start-1] != ' ' || line[start] == ' ' || line[stop-1] == ' ' {
		return 0, Unknown
	}
	i = len(l.fields)
	l.fields = l.fields[:i+1]
	f := &l.fields[i]
	f.NameOff, f.NameLen = uint32(at), uint16(start-len(": "))
	f.ValueOff, f.ValueLen = uint32(at+start), uint32(stop-start)
	l.note(id, i)
	return stop + len("\r\n"), id
}

// goesOn reports whether line also matches the rest of a pattern of more than two words.
func (p *pattern) goesOn(line []byte) bool {
	if len(line) < 8*int(p.words) {
		return false
	}
	odd := uint64(0)
	for word := 2; word < int(p.words); word++ {
		odd |= p.differ(line, 0, word)
	}
	return odd == 0
}
