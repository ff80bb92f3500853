package hpack

import (
	"encoding/binary"

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

// appendEncoded appends s in the Huffman code, padded with ones.
func appendEncoded[S ascii.Text](dst []byte, s S) []byte {
	var acc uint64 // the low n bits are not yet in dst, with n < 32
	n := uint(0)
	for i := range len(s) {
		c := codes[s[i]]
		acc = acc<<c.n | uint64(c.bits)
		if n += uint(c.n); n >= 32 {
			n -= 32
			dst = binary.BigEndian.AppendUint32(dst, uint32(acc>>n))
		}
	}
	for ; n >= 8; n -= 8 {
		dst = append(dst, byte(acc>>(n-8)))
	}
	if n > 0 {
		dst = append(dst, byte(acc<<(8-n))|0xff>>n)
	}
	return dst
}

// appendString appends a string literal (RFC 7541 §5.2): Huffman-coded if that is shorter and compress is true.
func appendString[S ascii.Text](dst []byte, s S, compress bool) []byte {
	if compress {
		if n := encodedLen(s); n < len(s) {
			return appendEncoded(appendInt(dst, 0x80, 0x7f, n), s)
		}
	}
	return append(appendInt(dst, 0, 0x7f, len(s)), s...)
}
