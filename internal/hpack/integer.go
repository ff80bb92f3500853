package hpack

// Integers (RFC 7541 §5.1) begin in the low bits of a byte, the prefix. If all bits of the prefix are set, bytes of
// seven bits each follow, with the lowest bits first.

// maxContinuation is how many bytes may follow the prefix. The largest integer is therefore 2^28 + 126, which is far
// beyond every length and index that is valid here.
const maxContinuation = 4

// readInt reads the integer at in[at] and returns it with the index after it. mask covers the bits of the prefix. at must
// be below len(in).
func readInt(in []byte, at int, mask byte) (n, next int, err *Error) {
	n = int(in[at] & mask)
	if n < int(mask) {
		return n, at + 1, nil
	}
	for i := 1; i <= maxContinuation; i++ {
		if at+i >= len(in) {
			return 0, at, ErrTruncated
		}
		c := in[at+i]
		n += int(c&0x7f) << (7 * (i - 1))
		if c < 0x80 {
			return n, at + i + 1, nil
		}
	}
	return 0, at, ErrInteger
}

// appendInt appends n with a prefix of the bits of mask. The other bits of the first byte are those of pattern.
func appendInt(dst []byte, pattern, mask byte, n int) []byte {
	if n < int(mask) {
		return append(dst, pattern|byte(n))
	}
	dst = append(dst, pattern|mask)
	for n -= int(mask); n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}
