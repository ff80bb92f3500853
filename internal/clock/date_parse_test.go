package clock

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseHTTPDateAcceptsTheThreeForms(t *testing.T) {
	example := time.Date(1994, 11, 6, 8, 49, 37, 0, time.UTC)
	for _, tc := range []struct {
		name, in string
		want     time.Time
	}{
		{"IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", example},
		{"RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", example},
		{"asctime", "Sun Nov  6 08:49:37 1994", example},
		{"asctime, two-digit day", "Wed Nov 16 08:49:37 1994", example.AddDate(0, 0, 10)},
		{"asctime, zero before the day", "Sun Nov 06 08:49:37 1994", example},
		{"names in any case", "sUN, 06 nOV 1994 08:49:37 GMT", example},
		{"RFC 850, names in any case", "SUNDAY, 06-NOV-94 08:49:37 GMT", example},
		{"wrong day of the week", "Mon, 06 Nov 1994 08:49:37 GMT", example},
		{"29 February", "Thu, 29 Feb 2024 00:00:00 GMT", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)},
		{"year 0", "Sat, 01 Jan 0000 00:00:00 GMT", time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"last second", "Fri, 31 Dec 9999 23:59:59 GMT", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
		{"leap second", "Sat, 31 Dec 2016 23:59:60 GMT", time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"longest day name", "Wednesday, 16-Nov-94 08:49:37 GMT", example.AddDate(0, 0, 10)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseHTTPDate([]byte(tc.in))
			if err != nil || !got.Equal(tc.want) || got.Location() != time.UTC {
				t.Errorf("%q: got %v, %v; want %v", tc.in, got, err, tc.want)
			}
		})
	}
}

func TestParseHTTPDateRefuses(t *testing.T) {
	for _, tc := range []struct{ name, in string }{
		{"nothing", ""},
		{"a number", "784111777"},
		{"ISO 8601", "1994-11-06T08:49:37Z"},
		{"only the length of a date", strings.Repeat("x", DateLen)},
		{"blank before", " Sun, 06 Nov 1994 08:49:37 GMT"},
		{"blank behind", "Sun, 06 Nov 1994 08:49:37 GMT "},
		{"unknown day", "Foo, 06 Nov 1994 08:49:37 GMT"},
		{"unknown month", "Sun, 06 Foo 1994 08:49:37 GMT"},
		{"bytes that fold to letters only without their high bits", "Sun, 06 \x0eov 1994 08:49:37 GMT"},
		{"day 0", "Sun, 00 Nov 1994 08:49:37 GMT"},
		{"day 31 of 30", "Sun, 31 Nov 1994 08:49:37 GMT"},
		{"29 February in a common year", "Wed, 29 Feb 2023 00:00:00 GMT"},
		{"hour 24", "Sun, 06 Nov 1994 24:00:00 GMT"},
		{"minute 60", "Sun, 06 Nov 1994 08:60:00 GMT"},
		{"second 60 that is no leap second", "Sun, 06 Nov 1994 08:49:60 GMT"},
		{"second 61", "Sat, 31 Dec 2016 23:59:61 GMT"},
		{"letter for a digit", "Sun, 06 Nov 199O 08:49:37 GMT"},
		{"sign for a digit", "Sun, +6 Nov 1994 08:49:37 GMT"},
		{"dot for a colon", "Sun, 06 Nov 1994 08.49.37 GMT"},
		{"other zone", "Sun, 06 Nov 1994 08:49:37 EST"},
		{"zone in lower case", "Sun, 06 Nov 1994 08:49:37 gmt"},
		{"no comma", "Sun  06 Nov 1994 08:49:37 GMT"},
		{"RFC 850 with a short day", "Sun, 06-Nov-94 08:49:37 GMT"},
		{"RFC 850 with half a day name", "Sundax, 06-Nov-94 08:49:37 GMT"},
		{"RFC 850 with a day name too long", "Sundayday, 06-Nov-94 08:49:37 GMT"},
		{"RFC 850 with four digits", "Sunday, 06-Nov-1994 08:49:37 GMT"},
		{"RFC 850 with blanks", "Sunday, 06 Nov 94 08:49:37 GMT"},
		{"asctime with a zone", "Sun Nov  6 08:49:37 1994 GMT"},
		{"asctime with a blank behind the digit", "Sun Nov 6  08:49:37 1994"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, err := ParseHTTPDate([]byte(tc.in)); err == nil {
				t.Errorf("%q: read as %v, want a refusal", tc.in, got)
			}
		})
	}
}

// RFC 9110 §5.6.7: a date that appears to be more than fifty years in the future is in the past.
func TestTwoDigitYears(t *testing.T) {
	now := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, in string
		now      time.Time
		year     int // 0: refused
	}{
		{"this year", "Monday, 15-Jun-26 12:00:00 GMT", now, 2026},
		{"last century", "Sunday, 06-Nov-94 08:49:37 GMT", now, 1994},
		{"fifty years ahead", "Monday, 15-Jun-76 12:00:00 GMT", now, 2076},
		{"a second more", "Monday, 15-Jun-76 12:00:01 GMT", now, 1976},
		{"a year more", "Monday, 15-Jun-77 00:00:00 GMT", now, 1977},
		{"49 years ahead", "Monday, 15-Jun-75 00:00:00 GMT", now, 2075},
		{"next century", "Monday, 15-Jun-05 00:00:00 GMT", now.AddDate(73, 0, 0), 2105},
		{"end of the century", "Friday, 31-Dec-99 00:00:00 GMT", now.AddDate(-27, 0, 0), 1999},
		{"29 February 2000", "Tuesday, 29-Feb-00 00:00:00 GMT", now, 2000},
		{"29 February 2100", "Monday, 29-Feb-00 00:00:00 GMT", now.AddDate(40, 0, 0), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseRFC850([]byte(tc.in), tc.now)
			if refused := err != nil; refused != (tc.year == 0) || !refused && got.Year() != tc.year {
				t.Errorf("%q read on %v: %v, %v; want %d", tc.in, tc.now, got, err, tc.year)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // in the bubble it is the year 2000
		if got, err := ParseHTTPDate([]byte("Tuesday, 15-Jun-49 12:00:00 GMT")); err != nil || got.Year() != 2049 {
			t.Errorf("in the year 2000: got %v, %v", got, err)
		}
		if got, err := ParseHTTPDate([]byte("Tuesday, 15-Jun-51 12:00:00 GMT")); err != nil || got.Year() != 1951 {
			t.Errorf("in the year 2000: got %v, %v", got, err)
		}
	})
}

// net/http parses all accepted dates in the same way, except leap seconds, which it refuses. It accepts more:
// fractions, repeated blanks, zones.
func FuzzParseHTTPDate(f *testing.F) {
	for _, s := range []string{
		"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
		"Sat, 31 Dec 2016 23:59:60 GMT", "Wednesday, 29-Feb-00 00:00:00 GMT", "Sun Nov 06 08:49:37 1994", "Sun, 06 Nov 1994  8:49:37 GMT",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseHTTPDate([]byte(s))
		if err != nil {
			return
		}
		if before := strings.Replace(s, "23:59:60", "23:59:59", 1); before != s {
			s, got = before, got.Add(-time.Second)
		}
		want, err := http.ParseTime(s)
		if err != nil {
			t.Fatalf("%q: read as %v, net/http: %v", s, got, err)
		}
		if strings.Contains(s, "-") { // two digits: only the century may differ
			if (got.Year()-want.Year())%100 != 0 {
				t.Fatalf("%q: got %v, net/http %v", s, got, want)
			}
			want = want.AddDate(got.Year()-want.Year(), 0, 0)
		}
		if !got.Equal(want) {
			t.Fatalf("%q: got %v, net/http %v", s, got, want)
		}
	})
}

func BenchmarkParseHTTPDate(b *testing.B) {
	b.ReportAllocs()
	in := []byte("Sun, 06 Nov 1994 08:49:37 GMT")
	for b.Loop() {
		if _, err := ParseHTTPDate(in); err != nil {
			b.Fatal(err)
		}
	}
}
