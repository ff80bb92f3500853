package clock

import (
	"sync/atomic"
	"time"
)

// DateLen is the length of an IMF-fixdate, as in "Sun, 06 Nov 1994 08:49:37 GMT".
const DateLen = 29

// The first and last second whose IMF-fixdate has a year of four digits: 0000-01-01T00:00:00Z and
// 9999-12-31T23:59:59Z.
const (
	firstSecond = -62167219200
	lastSecond  = 253402300799
)

// date is one formatted second. It is not changed after it was published.
type date struct {
	second int64
	text   [DateLen]byte
}

var lastDate atomic.Pointer[date]

// AppendDate appends now like [AppendHTTPDate], for the Date field of a response (RFC 9110 §6.6.1). It formats, and
// allocates, only if the previous call in the process was for another second. It is safe for concurrent use, also
// with different times.
func AppendDate(dst []byte, now time.Time) []byte {
	second := now.Unix()
	d := lastDate.Load()
	if d == nil || d.second != second {
		d = &date{second: second}
		AppendHTTPDate(d.text[:0], now)
		lastDate.Store(d)
	}
	return append(dst, d.text[:]...)
}

const (
	dayNames   = "SunMonTueWedThuFriSat"
	monthNames = "JanFebMarAprMayJunJulAugSepOctNovDec"
)

// AppendHTTPDate appends the [DateLen] bytes of t as an IMF-fixdate (RFC 9110 §5.6.7), in GMT and without fractions
// of a second. A time before the year 0 or after 9999 is replaced by the nearest time that has an IMF-fixdate.
func AppendHTTPDate(dst []byte, t time.Time) []byte {
	t = time.Unix(min(max(t.Unix(), firstSecond), lastSecond), 0).UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	name := 3 * int(t.Weekday())
	dst = append(dst, dayNames[name:name+3]...)
	dst = append2(append(dst, ", "...), day)
	name = 3 * int(month-1)
	dst = append(append(dst, ' '), monthNames[name:name+3]...)
	dst = append2(append(dst, ' '), year/100)
	dst = append2(dst, year%100)
	dst = append2(append(dst, ' '), hour)
	dst = append2(append(dst, ':'), minute)
	dst = append2(append(dst, ':'), second)
	return append(dst, " GMT"...)
}

// append2 appends 0 ≤ n < 100 in two digits.
func append2(dst []byte, n int) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}
