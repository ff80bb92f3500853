package coding

import "bytes"

// MaxLayers is the maximum number of nested codings of a body. No honest sender needs more than two, and each one
// multiplies the size of a decompression bomb.
const MaxLayers = 3

// List holds the codings of a body in the order in which they were applied, which is the order of Content-Encoding
// (RFC 9110 §8.4). They are undone from the last to the first. The zero value means no coding. A List never contains
// Identity.
type List struct {
	codings [MaxLayers]Coding
	n       uint8
}

// ListOf returns a list with the single coding c.
func ListOf(c Coding) (l List) {
	if c != Identity {
		l.codings[0], l.n = c, 1
	}
	return l
}

// Len returns the number of codings.
func (l *List) Len() int { return int(l.n) }

// At returns the coding that was applied as number i, counted from 0.
func (l *List) At(i int) Coding { return l.codings[:l.n][i] }

// Add appends the codings of one Content-Encoding field line. Call it for each line in order. Empty members and
// "identity" add nothing. The error is ErrUnknown or ErrTooManyLayers; l must not be used afterwards.
func (l *List) Add(value []byte) error {
	for len(value) > 0 {
		var member []byte
		member, value, _ = bytes.Cut(value, []byte(","))
		member = bytes.Trim(member, " \t")
		if len(member) == 0 {
			continue
		}
		c, ok := Parse(member)
		switch {
		case !ok:
			return ErrUnknown
		case c == Identity:
		case l.n == MaxLayers:
			return ErrTooManyLayers
		default:
			l.codings[l.n] = c
			l.n++
		}
	}
	return nil
}
