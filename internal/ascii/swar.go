package ascii

import (
	"encoding/binary"
	"math/bits"
)

// The words below hold one constant in each of their eight bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// Word returns the eight bytes of b from i on, the first one lowest. It costs less than
// reading them from b[i:], of which nothing else is wanted.
func Word(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i : i+8]) }

// controls marks, with the high bit of its byte, bytes of the word w below 0x20
// and DEL. A byte above a marked one may be marked as well although it is none
// (the subtraction borrows), so only the lowest mark counts. HTAB is marked too.
func controls(w uint64) uint64 {
	below := (w - ones*0x20) &^ w
	del := w ^ ones*0x7f
	return (below | (del-ones)&^del) & highs
}

// Odd marks, with the high bit of its byte, bytes of the word w that are not from
// 0x20 to 0x7e, first among them what ends a line. It is half the work of finding
// just the control characters, and in a header nearly always as good. Bytes above
// a marked one may be marked as well; only whether there is a mark, and the lowest
// one, count. That one may be a byte from 0x80 on.
func Odd(w uint64) uint64 { return ((w - ones*0x20) | (w + ones)) & highs }

// IndexControl returns the index of the first byte of b that is a control
// character (below 0x20, or DEL) other than HTAB, or len(b) without one. Such a
// byte ends a line of a header, or is an error in it (RFC 9110 §5.5).
//
// It looks at eight bytes a step.
func IndexControl(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := Word(b, i)
		if Odd(w) == 0 {
			continue
		}
		m := controls(w)
		if m == 0 {
			continue
		}
		j := i + bits.TrailingZeros64(m)>>3
		if b[j] != '\t' {
			return j
		}
		// A tab: rare enough to go on byte by byte to the end of this word.
		for j++; j < i+8; j++ {
			if classes[b[j]]&classValue == 0 {
				return j
			}
		}
	}
	if n := len(b); n >= 8 && Odd(Word(b, n-8)) == 0 {
		return n
	}
	for ; i < len(b); i++ {
		if classes[b[i]]&classValue == 0 {
			return i
		}
	}
	return len(b)
}

// ToLower puts the ASCII letters of b into lower case, in place, and returns b.
func ToLower(b []byte) []byte {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := Word(b, i)
		low := w &^ highs
		from, beyond := low+(0x80-'A')*ones, low+(0x7f-'Z')*ones // the high bit of a byte: it is 'A' or more, more than 'Z'
		binary.LittleEndian.PutUint64(b[i:], w|(from&^beyond&^w&highs)>>2)
	}
	for ; i < len(b); i++ {
		b[i] = Lower(b[i])
	}
	return b
}
