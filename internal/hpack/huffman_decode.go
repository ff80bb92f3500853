package hpack

import (
	"encoding/binary"
	"slices"
)

// The decoder looks at tableBits bits at a time. The table pairs has for each value of these bits the one or two symbols
// that they begin with. Codes that are longer are rare in headers; longSymbol finds their symbols.
const tableBits = 12

// pair is an entry of the table pairs, in these bits:
//
//	 0…7  first symbol
//	 8…15 second symbol, if there are two
//	16…19 length of the first code
//	20…23 length of the codes together
//	24…25 number of symbols; 0 if the first code is longer than tableBits
type pair uint32

// The lengths are below 16. The compiler knows that, and shifts without looking at the count.
func (p pair) firstLen() uint { return uint(p>>16) & 15 }
func (p pair) allLen() uint   { return uint(p>>20) & 15 }
func (p pair) count() int     { return int(p >> 24) }

var pairs = buildPairs()

func buildPairs() (t [1 << tableBits]pair) {
	for symbol, c := range codes {
		if c.n > tableBits {
			continue
		}
		rest := tableBits - c.n
		for i := range uint32(1) << rest {
			t[c.bits<<rest|i] = pair(symbol) | pair(c.n)<<16 | pair(c.n)<<20 | 1<<24
		}
	}
	single := t
	for i, first := range single {
		if first.count() == 0 {
			continue
		}
		second := single[i<<first.firstLen()&(len(t)-1)]
		if all := first.firstLen() + second.firstLen(); second.count() == 1 && all <= tableBits {
			t[i] = first&0xf00ff | second&0xff<<8 | pair(all)<<20 | 2<<24
		}
	}
	return t
}

// longCodes has the codes that are longer than tableBits, in the order of their lengths.
var longCodes = buildLongCodes()

// codesOf are the codes of one length n. Of 32 bits that begin with such a code, or with a shorter one, the value is
// below end.
type codesOf struct {
	n       uint
	first   uint32 // the smallest code
	end     uint64
	symbols []uint16
}

func buildLongCodes() (t []codesOf) {
	for n := uint(tableBits + 1); n <= maxCode; n++ {
		of := codesOf{n: n}
		for symbol, c := range codes {
			if uint(c.n) != n {
				continue
			}
			if len(of.symbols) == 0 {
				of.first = c.bits
			}
			of.symbols = append(of.symbols, uint16(symbol))
			of.end = uint64(c.bits+1) << (32 - n)
		}
		if len(of.symbols) > 0 {
			t = append(t, of)
		}
	}
	return t
}

// longSymbol returns the symbol whose code begins w, and the length of the code, which is longer than tableBits. Every w
// begins with a code, because the code is complete.
func longSymbol(w uint32) (symbol uint16, n uint) {
	i := 0
	for uint64(w) >= longCodes[i].end {
		i++
	}
	of := &longCodes[i]
	return of.symbols[w>>(32-of.n)-of.first], of.n
}

// maxDecoded returns how many symbols n bytes can hold. The shortest codes have five bits.
func maxDecoded(n int) int { return n*8/5 + 1 }

// spare is the room that huffmanReader needs besides the symbols. It decodes up to 64 bits without looking at the room,
// and stores two bytes at a time.
const spare = 16

// appendDecoded appends what the Huffman-coded src stands for.
func appendDecoded(dst, src []byte) ([]byte, *Error) {
	start := len(dst)
	room := maxDecoded(len(src)) + spare
	dst = slices.Grow(dst, room)
	h := huffmanReader{src: src}
	n, err := h.read(dst[start : start+room])
	return dst[:start+n], err
}

// decodedLen returns the length of what src stands for, without storing it.
func decodedLen(src []byte) (int, *Error) {
	var scratch [256]byte
	h := huffmanReader{src: src}
	for sum := 0; ; {
		n, err := h.read(scratch[:])
		if sum += n; n == 0 || err != nil {
			return sum, err
		}
	}
}

// huffmanReader decodes a string in pieces.
type huffmanReader struct {
	src []byte // not yet in acc
	acc uint64 // the next n bits of the string, from the highest bit on
	n   uint
}

// read decodes into out until fewer than spare bytes of out are left, or the string ends. It returns the number of bytes;
// 0 means the end. out must have room for more than spare bytes.
func (h *huffmanReader) read(out []byte) (int, *Error) {
	src, acc, n, used := h.src, h.acc, h.n, 0
	for len(out)-used >= spare {
		if len(src) >= 8 { // fill acc up to at least 56 bits
			acc |= binary.BigEndian.Uint64(src) >> (n & 63)
			src = src[(63-n)>>3&7:]
			n |= 56
		} else if src, acc, n = fill(src, acc, n); n < maxCode {
			break
		}
		for n >= maxCode { // acc holds at least one code
			p := pairs[acc>>(64-tableBits)]
			if p.count() == 0 {
				symbol, length := longSymbol(uint32(acc >> 32))
				if symbol == eos {
					return used, ErrHuffmanEOS
				}
				out[used] = byte(symbol)
				used, acc, n = used+1, acc<<(length&63), n-length
				continue
			}
			binary.LittleEndian.PutUint16(out[used:], uint16(p))
			used += p.count()
			acc <<= p.allLen()
			n -= p.allLen()
		}
	}
	h.src, h.acc, h.n = src, acc, n
	return h.readEnd(out, used)
}

// fill moves bytes of src to acc while there is room.
func fill(src []byte, acc uint64, n uint) ([]byte, uint64, uint) {
	for ; len(src) > 0 && n <= 56; n += 8 {
		acc |= uint64(src[0]) << ((56 - n) & 63)
		src = src[1:]
	}
	return src, acc, n
}

// readEnd decodes the last bits, if only fewer than maxCode of them are left, and checks the padding.
func (h *huffmanReader) readEnd(out []byte, used int) (int, *Error) {
	for len(h.src) == 0 && h.n < maxCode && used < len(out) {
		padded := h.acc | ^uint64(0)>>h.n
		if padded == ^uint64(0) && h.n < 8 {
			h.acc, h.n = 0, 0
			break
		}
		symbol, length := uint16(0), uint(0)
		if p := pairs[padded>>(64-tableBits)]; p.count() > 0 {
			symbol, length = uint16(p&0xff), p.firstLen()
		} else {
			symbol, length = longSymbol(uint32(padded >> 32))
		}
		if length > h.n {
			return used, ErrHuffmanPadding
		}
		out[used] = byte(symbol)
		used, h.acc, h.n = used+1, h.acc<<length, h.n-length
	}
	return used, nil
}
