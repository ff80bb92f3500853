package hpack

import "testing"

// The examples of RFC 7541 appendix C.1, and the limits.
func TestIntegers(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		mask     byte
		want     int
		err      *Error
	}{
		{"C.1.1: 10, prefix of 5 bits", "\x0a", 0x1f, 10, nil},
		{"C.1.2: 1337, prefix of 5 bits", "\x1f\x9a\x0a", 0x1f, 1337, nil},
		{"C.1.3: 42, prefix of 8 bits", "\x2a", 0xff, 42, nil},
		{"largest in the prefix", "\x7e", 0x7f, 126, nil},
		{"smallest beyond the prefix", "\x7f\x00", 0x7f, 127, nil},
		{"bits before the prefix", "\xea", 0x1f, 10, nil},
		{"zeros at the end", "\x7f\x80\x80\x80\x00", 0x7f, 127, nil},
		{"largest", "\x7f\xff\xff\xff\x7f", 0x7f, 1<<28 + 126, nil},
		{"five bytes after the prefix", "\x7f\xff\xff\xff\xff\x00", 0x7f, 0, ErrInteger},
		{"five bytes of zeros", "\x7f\x80\x80\x80\x80\x00", 0x7f, 0, ErrInteger},
		{"never ends", "\x7f\xff\xff\xff\xff", 0x7f, 0, ErrInteger},
		{"cut after the prefix", "\x7f", 0x7f, 0, ErrTruncated},
		{"cut within", "\x7f\xff\xff\xff", 0x7f, 0, ErrTruncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, next, err := readInt([]byte(tt.in + "x")[:len(tt.in)], 0, tt.mask)
			if n != tt.want || err != tt.err || err == nil && next != len(tt.in) {
				t.Errorf("got %d up to %d, %v, want %d, %v", n, next, err, tt.want, tt.err)
			}
		})
	}
	for mask := byte(1); mask != 0; mask = mask<<1 | 1 {
		for _, n := range []int{0, 1, int(mask) - 1, int(mask), int(mask) + 1, int(mask) + 127, int(mask) + 128, 1 << 20} {
			b := appendInt([]byte("x"), 0, mask, n)
			if got, next, err := readInt(b, 1, mask); got != n || next != len(b) || err != nil {
				t.Errorf("mask %x: %d becomes %x and then %d, %v", mask, n, b[1:], got, err)
			}
		}
		if mask == 0xff {
			break
		}
	}
}
