package files

import "testing"

func TestParseByteRange(t *testing.T) {
	for _, tc := range []struct {
		value       string
		length      int
		first, last int
	}{
		{"bytes=0-0", 1, 0, 0},
		{"bytes=10-20", 100, 10, 20},
		{"bytes=10-", 100, 10, 99},
		{"bytes=-10", 100, 90, 99},
		{"bytes=-100", 10, 0, 9},
		{"bytes=0-99999999999999999999", 10, 0, 9},
		{"bytes=-99999999999999999999", 10, 0, 9},
		{"Bytes= 1-2 ", 10, 1, 2},
	} {
		first, last, err := ParseByteRange([]byte(tc.value), tc.length)
		if err != nil || first != tc.first || last != tc.last {
			t.Errorf("%q of %d: %d-%d, %v", tc.value, tc.length, first, last, err)
		}
	}
	for _, tc := range []struct {
		value  string
		length int
		want   error
	}{
		{"", 10, errRangeUnit},
		{"bytes", 10, errRangeUnit},
		{"lines=0-1", 10, errRangeUnit},
		{"bytes=", 10, errRangeSyntax},
		{"bytes=-", 10, errRangeSyntax},
		{"bytes=5", 10, errRangeSyntax},
		{"bytes=0-1,3-4", 10, errRangeSyntax},
		{"bytes=+0-1", 10, errRangeSyntax},
		{"bytes=0--1", 10, errRangeSyntax},
		{"bytes=0x1-2", 10, errRangeSyntax},
		{"bytes=5-4", 10, errRangeSyntax},
		{"bytes=10-", 10, errRangeNotSatisfiable},
		{"bytes=99999999999999999999-", 10, errRangeNotSatisfiable},
		{"bytes=-0", 10, errRangeNotSatisfiable},
		{"bytes=-5", 0, errRangeNotSatisfiable},
		{"bytes=0-", 0, errRangeNotSatisfiable},
		{"bytes=0-", -1, errRangeNotSatisfiable},
	} {
		if first, last, err := ParseByteRange([]byte(tc.value), tc.length); err != tc.want || first != 0 || last != 0 {
			t.Errorf("%q of %d: %d-%d, %v; want %v", tc.value, tc.length, first, last, err, tc.want)
		}
	}
}
