package coding

import (
	"errors"
	"testing"
)

func TestParseKnowsTokensInAnyCase(t *testing.T) {
	for token, want := range map[string]Coding{
		"gzip": Gzip, "GZip": Gzip, "x-gzip": Gzip, "X-GZIP": Gzip, "deflate": Deflate, "Deflate": Deflate,
		"br": Brotli, "BR": Brotli, "zstd": Zstd, "identity": Identity,
	} {
		if c, ok := Parse([]byte(token)); !ok || c != want {
			t.Errorf("%q: got %v, %v", token, c, ok)
		}
	}
	for _, token := range []string{"", "*", "gzip ", "compress", "x-deflate", "brotli", "z\u017ftd", "gzi", "gzipp"} {
		if c, ok := Parse([]byte(token)); ok {
			t.Errorf("%q: taken for %v", token, c)
		}
	}
}

func TestStringIsTheToken(t *testing.T) {
	for c := range codings {
		if back, ok := Parse([]byte(c.String())); !ok || back != c {
			t.Errorf("%v does not parse as itself", c)
		}
	}
	if s := codings.String(); s != "unknown" {
		t.Errorf("coding out of range: %q", s)
	}
}

func TestListKeepsTheOrderOfTheField(t *testing.T) {
	for _, tc := range []struct {
		name  string
		lines []string
		want  []Coding
		err   error
	}{
		{"none", nil, nil, nil},
		{"empty", []string{""}, nil, nil},
		{"one", []string{"gzip"}, []Coding{Gzip}, nil},
		{"two", []string{"gzip, br"}, []Coding{Gzip, Brotli}, nil},
		{"two lines", []string{"gzip", "br"}, []Coding{Gzip, Brotli}, nil},
		{"blanks and empty members", []string{" ,\tgzip ,, zstd,"}, []Coding{Gzip, Zstd}, nil},
		{"identity adds nothing", []string{"identity, gzip, identity, br, identity, zstd"}, []Coding{Gzip, Brotli, Zstd}, nil},
		{"four", []string{"gzip,gzip,gzip", "gzip"}, nil, ErrTooManyLayers},
		{"unknown", []string{"gzip, compress"}, nil, ErrUnknown},
		{"parameters", []string{"gzip;q=1"}, nil, ErrUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var l List
			var err error
			for _, line := range tc.lines {
				if err = l.Add([]byte(line)); err != nil {
					break
				}
			}
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if err != nil {
				return
			}
			if l.Len() != len(tc.want) {
				t.Fatalf("%d codings, want %d", l.Len(), len(tc.want))
			}
			for i, c := range tc.want {
				if l.At(i) != c {
					t.Errorf("number %d is %v, want %v", i, l.At(i), c)
				}
			}
		})
	}
}

func TestLevelsOutsideTheScaleAreTheDefault(t *testing.T) {
	for _, tc := range []struct {
		c           Coding
		level, want int
	}{
		{Gzip, -2, -2}, {Gzip, -1, 6}, {Gzip, -3, 6}, {Gzip, 10, 6}, {Gzip, 0, 0}, {Gzip, 9, 9},
		{Deflate, DefaultLevel, 6}, {Brotli, 0, 0}, {Brotli, 11, 11}, {Brotli, 12, 4}, {Brotli, -1, 4},
		{Zstd, 0, 2}, {Zstd, 1, 1}, {Zstd, 4, 4}, {Zstd, 5, 2}, {Identity, 3, 0},
	} {
		if got := tc.c.clamp(tc.level); got != tc.want {
			t.Errorf("%v level %d: got %d, want %d", tc.c, tc.level, got, tc.want)
		}
	}
}
