package plainjson

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Most numbers are short, and so is the way to read them: digits are added up as they are looked at, eight at a time. What is
// longer, or at the end of the data, is left to decoder.number, which finds the end, and to strconv.

// short is how many digits fit into a uint64, whatever they are.
const short = 19

// longest is how many digits a uint64 has at most.
const longest = 20

// digitsFrom returns the digits of data from i on as a number, and where they end. The number is wrong if there are more than short of them.
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

// areDigits reports whether all eight bytes are digits: the high halves are 3, also if 6 is added.
func areDigits(x uint64) bool {
	const halves, sixes, threes = 0xf0f0f0f0f0f0f0f0, 0x0606060606060606, 0x3030303030303030
	return x&halves == threes && (x+sixes)&halves == threes
}

// eightDigits returns eight digits as a number, the first of which is the lowest byte. It adds up neighbors: to pairs, fours, and all.
func eightDigits(x uint64) uint64 {
	const zeros, pairs, fours = 0x3030303030303030, 0x00ff00ff00ff00ff, 0x0000ffff0000ffff
	x -= zeros
	x = x&pairs*10 + x>>8&pairs
	x = x&fours*100 + x>>16&fours
	return x&0xffffffff*10_000 + x>>32
}

// shortNatural returns the number at i if it is digits only, and not too many, and how long it is. Otherwise its size is 0.
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

// tens are the powers of ten that are float64s.
var tens = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// exactFloat returns the number at i and how long it is if its digits, without the point, are a float64, and so is the power of
// ten to divide by. The quotient is then rounded once, which is what strconv does. Otherwise its size is 0.
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

// integer reads a number that is an int64.
func integer(text []byte) (n int64, ok bool) {
	if text[0] != '-' {
		absolute, ok := natural(text)
		return int64(absolute), ok && absolute <= math.MaxInt64
	}
	absolute, ok := natural(text[1:])
	return -int64(absolute), ok && absolute <= -math.MinInt64
}

// natural reads digits that are a uint64.
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
