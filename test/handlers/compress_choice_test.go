package handlers_test

import (
	"testing"

	"github.com/gallop-http/gallop"
)

func TestAcceptEncodingChoice(t *testing.T) {
	for _, tc := range []struct {
		name  string
		lines []string
		want  string // "" for none
	}{
		{"no field", nil, ""},
		{"empty field", []string{""}, ""},
		{"one coding", []string{"gzip"}, "gzip"},
		{"what browsers send", []string{"gzip, deflate, br, zstd"}, "br"},
		{"case", []string{"GZIP"}, "gzip"},
		{"old alias", []string{"x-gzip"}, "gzip"},
		{"unknown ones", []string{"compress, exi, pack200-gzip"}, ""},
		{"part of a name", []string{"gzip2, xbr"}, ""},
		{"blanks", []string{"\t gzip \t;  q=0.5 ,, "}, "gzip"},
		{"several lines", []string{"deflate", "zstd"}, "zstd"},

		{"higher quality beats our order", []string{"br;q=0.5, gzip;q=0.8, zstd;q=0.7"}, "gzip"},
		{"equal quality leaves it to our order", []string{"deflate;q=0.5, gzip;q=0.5"}, "gzip"},
		{"a thousandth decides", []string{"br;q=0.123, gzip;q=0.124"}, "gzip"},
		{"q in capitals", []string{"gzip;Q=0, deflate;Q=0.1"}, "deflate"},
		{"refused", []string{"gzip;q=0"}, ""},
		{"refused with decimals", []string{"gzip;q=0.000"}, ""},
		{"refused, another is not", []string{"gzip;q=0, deflate"}, "deflate"},

		{"anything", []string{"*"}, "br"},
		{"anything but", []string{"br;q=0, gzip;q=0, *"}, "zstd"},
		{"anything, with a favourite", []string{"*;q=0.1, deflate;q=0.2"}, "deflate"},
		{"nothing else", []string{"gzip;q=0.1, *;q=0"}, "gzip"},
		{"nothing", []string{"*;q=0"}, ""},

		{"identity only", []string{"identity"}, ""},
		{"identity is liked better", []string{"identity, gzip;q=0.9"}, ""},
		{"identity is liked as well", []string{"identity;q=0.5, gzip;q=0.5"}, "gzip"},
		{"identity is refused", []string{"identity;q=0, gzip;q=0.1"}, "gzip"},
		{"all is refused, and still it is answered", []string{"identity;q=0, *;q=0"}, ""},

		{"listed twice", []string{"gzip, gzip;q=0"}, ""},
		{"over one", []string{"gzip;q=1.001"}, ""},
		{"two", []string{"gzip;q=2"}, ""},
		{"no number", []string{"gzip;q=x"}, ""},
		{"negative", []string{"gzip;q=-1"}, ""},
		{"blanks around the number", []string{"gzip; q = 0"}, ""},
		{"nothing but its name", []string{"gzip;q"}, ""},
		{"empty number", []string{"gzip;q="}, ""},
		{"too many decimals", []string{"gzip;q=0.1234"}, ""},
		{"no point", []string{"gzip;q=05"}, ""},
		{"other parameters", []string{"gzip;level=9"}, "gzip"},
		{"other parameters before", []string{"gzip;level=9;q=0"}, ""},
		{"whole numbers with decimals", []string{"gzip;q=1.000, deflate;q=1."}, "gzip"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ctx gallop.RequestCtx
			for _, line := range tc.lines {
				ctx.Request.Header.Add("Accept-Encoding", line)
			}
			withFourCodings(func(r *gallop.Response) { r.SetBodyString(compressible) })(&ctx)
			if got := string(ctx.Response.Header.ContentEncoding()); got != tc.want {
				t.Errorf("%q: chose %q, want %q", tc.lines, got, tc.want)
			}
		})
	}
	t.Run("what is not offered is not chosen", func(t *testing.T) {
		var ctx gallop.RequestCtx
		ctx.Request.Header.Set("Accept-Encoding", "br, gzip;q=0.1")
		gallop.CompressHandler(func(ctx *gallop.RequestCtx) { ctx.SetBodyString(compressible) })(&ctx)
		if got := string(ctx.Response.Header.ContentEncoding()); got != "gzip" {
			t.Errorf("chose %q", got)
		}
	})
}
