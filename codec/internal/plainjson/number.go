package plainjson

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Most numbers are short and are read in a fast way: digits are added up eight at a time while they are scanned.
// Longer numbers, and numbers at the end of the data, are left to decoder.number, which finds the end, and to
// strconv.

// short is the number of digits that always fit into a uint64.
const short = 19

// longest is the maximum number of digits of a uint64.
const longest = 20

// digitsFrom returns the number that the digits of data from i on form, and their end. If there are more than short
// digits, the number is wrong.
func digitsFrom(data []byte, i int) (n uint64, end int) {
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		if !areDigits(x) {
			break
		}
		n = 100_000_000*n + eightDigits(x)
	}
	for ; i < len(data) && '0' <= data[i] && data[i] <= '9'; i++ {
		n = 10*n + uint64(data[i]-'0')
	}
	return n, i
}

// areDigits reports whether all eight bytes are digits: their high halves are 3, before and after 6 is added.
func areDigits(x uint64) bool {
	const halves, sixes, threes = 0xf0f0f0f0f0f0f0f0, 0x0606060606060606, 0x3030303030303030
	return x&halves == threes && (x+sixes)&halves == threes
}

// eightDigits converts eight digits to a number. The lowest byte is the first digit. It adds up neighbors: to pairs,
// to fours, and to all eight.
func eightDigits(x uint64) uint64 {
	const zeros, pairs, fours = 0x3030303030303030, 0x00ff00ff00ff00ff, 0x0000ffff0000ffff
	x -= zeros
	x = x&pairs*10 + x>>8&pairs
	x = x&fours*100 + x>>16&fours
	return x&0xffffffff*10_000 + x>>32
}

// shortNatural returns the number at i and its length. The length is 0 if the number does not consist of at most
// short digits.
func shortNatural(data []byte, i int) (n uint64, size int) {
	n, end := digitsFrom(data, i)
	if size = end - i; size == 0 || size > short || end == len(data) || data[i] == '0' && size > 1 {
		return 0, 0
	}
	switch data[end] {
	case '.', 'e', 'E':
		return 0, 0
	}
	return n, size
}

// shortInt is shortNatural for numbers that may have a sign.
func shortInt(data []byte, i int) (n int64, size int) {
	if i == len(data) || data[i] != '-' {
		natural, size := shortNatural(data, i)
		if natural > math.MaxInt64 {
			return 0, 0
		}
		return int64(natural), size
	}
	natural, size := shortNatural(data, i+1)
	if size == 0 || natural > -math.MinInt64 {
		return 0, 0
	}
	return -int64(natural), size + 1
}

// tens are the powers of ten that a float64 represents exactly.
var tens = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// exactFloat returns the number at i and its length, if a float64 represents both its digits without the point and
// the power of ten to divide by. The quotient is then rounded once, with the same result as strconv. Otherwise the
// length is 0.
func exactFloat(data []byte, i int) (f float64, size int) {
	from := i
	if i < len(data) && data[i] == '-' {
		i++
	}
	n, end := digitsFrom(data, i)
	digits, after := end-i, 0
	if digits == 0 || end == len(data) || data[i] == '0' && digits > 1 {
		return 0, 0
	}
	if data[end] == '.' {
		point := end
		for end++; end < len(data) && '0' <= data[end] && data[end] <= '9'; end++ {
			n = 10*n + uint64(data[end]-'0')
		}
		if after = end - point - 1; after == 0 || end == len(data) {
			return 0, 0
		}
	}
	if digits+after > short || n > 1<<53 || data[end] == 'e' || data[end] == 'E' {
		return 0, 0
	}
	if f = float64(n) / tens[after]; data[from] == '-' {
		f = -f
	}
	return f, end - from
}

// integer parses a number that fits into an int64.
func integer(text []byte) (n int64, ok bool) {
	if text[0] != '-' {
		absolute, ok := natural(text)
		return int64(absolute), ok && absolute <= math.MaxInt64
	}
	absolute, ok := natural(text[1:])
	return -int64(absolute), ok && absolute <= -math.MinInt64
}

// natural parses digits that fit into a uint64.
func natural(digits []byte) (n uint64, ok bool) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	if len(digits) <= short {
		return n, true
	}
	n, err := strconv.ParseUint(string(digits[:min(len(digits), longest+1)]), 10, 64)
	return n, err == nil
}
