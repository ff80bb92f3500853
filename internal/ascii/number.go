package ascii

// ParseUint parses decimal digits. It reports false for an empty s, for any other byte, and for numbers of 2^63 or
// more.
func ParseUint[S Text](s S) (n uint64, ok bool) {
	if len(s) == 0 {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		d := s[i] - '0'
		if d > 9 || n > (1<<63-1-uint64(d))/10 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	return n, true
}

// ParseHex parses hexadecimal digits. It reports false for an empty s, for any other byte, and for numbers of 2^63 or
// more.
func ParseHex[S Text](s S) (n uint64, ok bool) {
	if len(s) == 0 {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		d, isHex := Unhex(s[i])
		if !isHex || n >= 1<<59 {
			return 0, false
		}
		n = n<<4 | uint64(d)
	}
	return n, true
}

// Unhex returns the value of a hexadecimal digit of either case.
func Unhex(c byte) (v byte, ok bool) {
	switch {
	case c-'0' <= 9:
		return c - '0', true
	case c-'a' <= 5:
		return c - 'a' + 10, true
	case c-'A' <= 5:
		return c - 'A' + 10, true
	}
	return 0, false
}

// AppendUint appends n in decimal.
func AppendUint(dst []byte, n uint64) []byte {
	switch {
	case n < 10:
		return append(dst, byte('0'+n))
	case n < 100:
		return append(dst, byte('0'+n/10), byte('0'+n%10))
	case n < 1000:
		return append(dst, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
	}
	return appendLong(dst, n)
}

// appendLong is AppendUint for any n. It writes the digits where they belong, because copying bytes that were just
// written one by one makes the processor wait.
func appendLong(dst []byte, n uint64) []byte {
	digits := 1
	for limit := uint64(10); n >= limit && digits < 20; limit *= 10 {
		digits++
	}
	dst = append(dst, "00000000000000000000"[:digits]...)
	for i := len(dst) - 1; n > 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
	return dst
}

// AppendHex appends n in lower-case hexadecimal without leading zeros.
func AppendHex(dst []byte, n uint64) []byte {
	shift := 0
	for shift < 60 && n>>(shift+4) != 0 {
		shift += 4
	}
	for ; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[n>>shift&15])
	}
	return dst
}
