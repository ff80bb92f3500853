package files

import (
	"strings"
	"testing"
)

func TestParseSpans(t *testing.T) {
	for _, tc := range []struct {
		name, value string
		want        []Span
		ignore      bool
	}{
		{"first", "bytes=0-0", []Span{{0, 1}}, false},
		{"all", "bytes=0-", []Span{{0, 10}}, false},
		{"last", "bytes=-1", []Span{{9, 1}}, false},
		{"more than there is", "bytes=-11", []Span{{0, 10}}, false},
		{"end beyond the end", "bytes=9-10", []Span{{9, 1}}, false},
		{"unit in capitals", "BYTES=1-2", []Span{{1, 2}}, false},
		{"blanks", "bytes= 1-2\t, 4-4 ", []Span{{1, 2}, {4, 1}}, false},
		{"order as asked", "bytes=8-9,0-1", []Span{{8, 2}, {0, 2}}, false},
		{"neighbours", "bytes=0-4,5-9", []Span{{0, 5}, {5, 5}}, false},
		{"one lies outside", "bytes=0-1,10-", []Span{{0, 2}}, false},
		{"number beyond 64 bits", "bytes=1-99999999999999999999", []Span{{1, 9}}, false},

		{"outside", "bytes=10-", nil, false},
		{"none of the last", "bytes=-0", nil, false},
		{"start beyond 64 bits", "bytes=99999999999999999999-", nil, false},

		{"no unit", "0-1", nil, true},
		{"other unit", "lines=0-1", nil, true},
		{"unit alone", "bytes", nil, true},
		{"empty", "bytes=", nil, true},
		{"dash", "bytes=-", nil, true},
		{"backwards", "bytes=2-1", nil, false},
		{"one of two backwards", "bytes=0-1,5-3", nil, false},
		{"sign", "bytes=+1-2", nil, true},
		{"two dashes", "bytes=--1", nil, true},
		{"blank inside", "bytes=1 -2", nil, true},
		{"blank before the unit's end", "bytes =1-2", nil, true},
		{"overlap", "bytes=0-5,5-6", nil, true},
		{"twice the same", "bytes=0-1,0-1", nil, true},
		{"a good one and a bad one", "bytes=0-1,a", nil, true},
		{"33 ranges", "bytes=20-" + strings.Repeat(",20-", 32), nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spans, ignore := ParseSpans([]byte(tc.value), 10)
			if ignore != tc.ignore || len(spans) != len(tc.want) {
				t.Fatalf("%v, %v", spans, ignore)
			}
			for i := range spans {
				if spans[i] != tc.want[i] {
					t.Errorf("%v, want %v", spans, tc.want)
				}
			}
		})
	}
}

func FuzzParseSpans(f *testing.F) {
	f.Add([]byte("bytes=0-1,-5,7-"), int64(10))
	f.Add([]byte("bytes=9223372036854775807-"), int64(1)<<62)
	f.Fuzz(func(t *testing.T, value []byte, size int64) {
		if size < 0 {
			return
		}
		spans, ignore := ParseSpans(value, size)
		if ignore && spans != nil || len(spans) > maxSpans {
			t.Fatalf("%v, %v", spans, ignore)
		}
		total := int64(0)
		for _, s := range spans {
			if s.Start < 0 || s.Length <= 0 || s.Length > size-s.Start {
				t.Fatalf("%v of %d", s, size)
			}
			total += s.Length
		}
		if total > size {
			t.Fatalf("%v: more than %d", spans, size)
		}
	})
}

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
