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
