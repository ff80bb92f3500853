package hpack

// The Huffman code of RFC 7541 appendix B is canonical. Among codes of one length, greater symbols have greater codes. Longer
// codes are greater than shorter codes, compared from the first bit. The lengths therefore define the code, and the tables
// are computed from the lengths.

// eos is the symbol that ends a string. It is never sent, but strings are padded with its first bits, which are ones.
const eos = 256

// maxCode is the length of the longest codes in bits.
const maxCode = 30

// codeLengths has the length of each symbol's code in bits.
var codeLengths = [eos + 1]uint8{
	13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
	28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
	6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
	5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
	13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
	7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
	15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
	6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
	20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
	24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
	22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
	21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
	26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
	19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
	20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
	26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
	maxCode,
}

// code is the code of a symbol in the low bits.
type code struct {
	bits uint32
	n    uint8
}

var codes = buildCodes()

func buildCodes() (t [eos + 1]code) {
	next := uint32(0)
	for n := uint8(1); n <= maxCode; n++ {
		next <<= 1
		for symbol, length := range codeLengths {
			if length == n {
				t[symbol] = code{next, n}
				next++
			}
		}
	}
	return t
}
