package cookie

import (
	"testing"
	"time"
)

func TestCookieDates(t *testing.T) {
	want := time.Date(1994, time.November, 6, 8, 49, 37, 0, time.UTC)
	for _, text := range []string{
		"Sun, 06 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994",
		"Sun, 6 Nov 1994 8:49:37 GMT",
		"1994 nov 6 08:49:37",
		"08:49:37 6th-NOVEMBER-1994",
		"06 Nov 94 08:49:37 +0100", // zones do not count
	} {
		if got, ok := ParseDate([]byte(text)); !ok || got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	for text, want := range map[string]time.Time{
		"1 jan 70 0:0:0":           time.Unix(0, 0).UTC(),
		"31 dec 69 23:59:59":       time.Date(2069, 12, 31, 23, 59, 59, 0, time.UTC),
		"1 jan 99 0:0:0":           time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC),
		"1 jan 1601 0:0:0":         time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC),
		"1/feb_2000;03:04:05{gmt}": time.Date(2000, 2, 1, 3, 4, 5, 0, time.UTC),
	} {
		if got, ok := ParseDate([]byte(text)); !ok || got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"06 Nov 1994 008:49:37", "06 Nov 1994 :49:37", "06 Nov 1994 08::37", "006 Nov 1994 08:49:37", "6 No 1994 08:49:37", "0 Jan 1994 08:49:37",
		"", "tomorrow", "06 Nov 1994", "Nov 1994 08:49:37", "06 1994 08:49:37", "06 Nov 08:49:37",
		"06 Nov 1600 08:49:37", "31 Feb 1994 08:49:37", "00 Nov 1994 08:49:37", "32 Nov 1994 08:49:37",
		"06 Nov 1994 24:49:37", "06 Nov 1994 08:60:37", "06 Nov 1994 08:49:60", "06 Nov 1994 08:49", "06 Nov 19940 08:49:37",
	} {
		if got, ok := ParseDate([]byte(text)); ok {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}
