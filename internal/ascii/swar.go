package ascii

import (
	"encoding/binary"
	"math/bits"
)

// Words with the same constant in each of their eight bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// Word returns the eight bytes of b at index i, with the first byte lowest. It is cheaper than slicing b[i:] first.
func Word(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i : i+8]) }

// controls marks the bytes of w that are below 0x20 or DEL, including HTAB, with the high bit of each byte. A byte
// above a marked one may be marked by mistake, because the subtraction borrows, so only the lowest mark counts.
func controls(w uint64) uint64 {
	below := (w - ones*0x20) &^ w
	del := w ^ ones*0x7f
	return (below | (del-ones)&^del) & highs
}

// Odd marks the bytes of w that are not from 0x20 to 0x7e, with the high bit of each byte. Among them are the bytes
// that end a line. It takes half the work of finding only control characters, and nearly always serves as well in a
// header. Bytes above a marked one may be marked by mistake. Only the existence of a mark and the lowest mark count.
// The lowest one may be a byte from 0x80 on.
func Odd(w uint64) uint64 { return ((w - ones*0x20) | (w + ones)) & highs }

// IndexControl returns the index of the first control character in b (below 0x20, or DEL) other than HTAB, or len(b).
// Such a byte ends a line of a header, or is an error in it (RFC 9110 §5.5). It processes eight bytes at a time.
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
		// A tab is rare, so the rest of this word is processed byte by byte.
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

// ToLower converts the ASCII letters of b to lower case, in place, and returns b.
func ToLower(b []byte) []byte {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := Word(b, i)
		low := w &^ highs
		from, beyond := low+(0x80-'A')*ones, low+(0x7f-'Z')*ones // high bit of a byte: it is at least 'A', and it is more than 'Z'
		binary.LittleEndian.PutUint64(b[i:], w|(from&^beyond&^w&highs)>>2)
	}
	for ; i < len(b); i++ {
		b[i] = Lower(b[i])
	}
	return b
}
