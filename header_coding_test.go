package gallop

import (
	"fmt"
	"testing"

	"github.com/gallop-http/gallop/internal/coding"
)

func TestAcceptEncodingChoice(t *testing.T) {
	for _, tc := range []struct {
		name  string
		lines []string
		want  coding.Coding
	}{
		{"no field", nil, coding.Identity},
		{"empty field", []string{""}, coding.Identity},
		{"one coding", []string{"gzip"}, coding.Gzip},
		{"what browsers send", []string{"gzip, deflate, br, zstd"}, coding.Brotli},
		{"case", []string{"GZIP"}, coding.Gzip},
		{"old alias", []string{"x-gzip"}, coding.Gzip},
		{"unknown ones", []string{"compress, exi, pack200-gzip"}, coding.Identity},
		{"part of a name", []string{"gzip2, xbr"}, coding.Identity},
		{"blanks", []string{"\t gzip \t;  q=0.5 ,, "}, coding.Gzip},
		{"several lines", []string{"deflate", "zstd"}, coding.Zstd},

		{"higher quality beats our order", []string{"br;q=0.5, gzip;q=0.8, zstd;q=0.7"}, coding.Gzip},
		{"equal quality leaves it to our order", []string{"deflate;q=0.5, gzip;q=0.5"}, coding.Gzip},
		{"a thousandth decides", []string{"br;q=0.123, gzip;q=0.124"}, coding.Gzip},
		{"q in capitals", []string{"gzip;Q=0, deflate;Q=0.1"}, coding.Deflate},
		{"refused", []string{"gzip;q=0"}, coding.Identity},
		{"refused with decimals", []string{"gzip;q=0.000"}, coding.Identity},
		{"refused, another is not", []string{"gzip;q=0, deflate"}, coding.Deflate},

		{"anything", []string{"*"}, coding.Brotli},
		{"anything but", []string{"br;q=0, gzip;q=0, *"}, coding.Zstd},
		{"anything, with a favourite", []string{"*;q=0.1, deflate;q=0.2"}, coding.Deflate},
		{"nothing else", []string{"gzip;q=0.1, *;q=0"}, coding.Gzip},
		{"nothing", []string{"*;q=0"}, coding.Identity},

		{"identity only", []string{"identity"}, coding.Identity},
		{"identity is liked better", []string{"identity, gzip;q=0.9"}, coding.Identity},
		{"identity is liked as well", []string{"identity;q=0.5, gzip;q=0.5"}, coding.Gzip},
		{"identity is refused", []string{"identity;q=0, gzip;q=0.1"}, coding.Gzip},
		{"all is refused, and still it is answered", []string{"identity;q=0, *;q=0"}, coding.Identity},

		{"listed twice", []string{"gzip, gzip;q=0"}, coding.Identity},
		{"over one", []string{"gzip;q=1.001"}, coding.Identity},
		{"two", []string{"gzip;q=2"}, coding.Identity},
		{"no number", []string{"gzip;q=x"}, coding.Identity},
		{"negative", []string{"gzip;q=-1"}, coding.Identity},
		{"blanks around the number", []string{"gzip; q = 0"}, coding.Identity},
		{"nothing but its name", []string{"gzip;q"}, coding.Identity},
		{"empty number", []string{"gzip;q="}, coding.Identity},
		{"too many decimals", []string{"gzip;q=0.1234"}, coding.Identity},
		{"no point", []string{"gzip;q=05"}, coding.Identity},
		{"other parameters", []string{"gzip;level=9"}, coding.Gzip},
		{"other parameters before", []string{"gzip;level=9;q=0"}, coding.Identity},
		{"whole numbers with decimals", []string{"gzip;q=1.000, deflate;q=1."}, coding.Gzip},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var a acceptedCodings
			a.reset()
			for _, line := range tc.lines {
				a.add([]byte(line))
			}
			offers := []coding.Coding{coding.Brotli, coding.Gzip, coding.Zstd, coding.Deflate}
			if got := a.choose(offers); got != tc.want {
				t.Errorf("%q: chose %v, want %v", tc.lines, got, tc.want)
			}
		})
	}
	t.Run("what is not offered is not chosen", func(t *testing.T) {
		var a acceptedCodings
		a.reset()
		a.add([]byte("br, gzip;q=0.1"))
		if got := a.choose([]coding.Coding{coding.Gzip}); got != coding.Gzip {
			t.Errorf("chose %v", got)
		}
	})
}

func TestQualityIsReadInThousandths(t *testing.T) {
	for i := range 1001 {
		s := fmt.Sprintf("%d.%03d", i/1000, i%1000)
		if got := parseQuality([]byte(s)); int(got) != i {
			t.Errorf("%q: %d", s, got)
		}
	}
	for s, want := range map[string]int16{"0": 0, "1": 1000, "0.": 0, "1.": 1000, "0.5": 500, "0.05": 50, "1.0": 1000} {
		if got := parseQuality([]byte(s)); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}
