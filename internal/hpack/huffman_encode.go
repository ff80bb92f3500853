package hpack

import (
	"encoding/binary"
	"slices"

	"github.com/gallop-http/gallop/internal/ascii"
)

// encodedLen returns the number of bytes that s takes in the Huffman code.
func encodedLen[S ascii.Text](s S) int {
	n := 0
	for i := range len(s) {
		n += int(codeLengths[s[i]])
	}
	return (n + 7) / 8
}

// appendEncoded appends s in the Huffman code, padded with ones. The result has n bytes, as encodedLen says.
func appendEncoded[S ascii.Text](dst []byte, s S, n int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, n+8)
	out, used := dst[start:start+n+8], 0
	var acc uint64 // the low held bits are not yet in out, with held < 32
	held := uint(0)
	for i := range len(s) {
		c := codes[s[i]]
		acc = acc<<(c.n&63) | uint64(c.bits)
		if held += uint(c.n); held >= 32 {
			held -= 32
			binary.BigEndian.PutUint32(out[used:], uint32(acc>>(held&63)))
			used += 4
		}
	}
	if held > 0 {
		acc = acc<<(64-held) | ^uint64(0)>>held
		binary.BigEndian.PutUint64(out[used:], acc)
	}
	return dst[:start+n]
}

// appendString appends a string literal (RFC 7541 §5.2): Huffman-coded if that is shorter and compress is true.
func appendString[S ascii.Text](dst []byte, s S, compress bool) []byte {
	if compress {
		if n := encodedLen(s); n < len(s) {
			return appendEncoded(appendInt(dst, 0x80, 0x7f, n), s, n)
		}
	}
	return append(appendInt(dst, 0, 0x7f, len(s)), s...)
}
