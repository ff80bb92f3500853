package cookie

import (
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
)

// ParseDate parses the value of an Expires attribute (RFC 6265 §5.1.1). The RFC takes the words of b that look like a
// time, a day, a month and a year, in any order. ParseDate reports false if one of the four is missing, or if there is
// no such date or time.
func ParseDate(b []byte) (time.Time, bool) {
	var d date
	for len(b) > 0 {
		n := 0
		for n < len(b) && !isDelimiter(b[n]) {
			n++
		}
		if n > 0 {
			d.take(b[:n])
		}
		b = b[min(n+1, len(b)):]
	}
	return d.time()
}

func isDelimiter(c byte) bool {
	return c == '\t' || c >= 0x20 && c <= 0x2f || c >= 0x3b && c <= 0x40 || c >= 0x5b && c <= 0x60 || c >= 0x7b && c <= 0x7e
}

// date holds the parts of a date that were found so far.
type date struct {
	hour, minute, second, day, year int
	month                           time.Month
	hasTime, hasDay, hasYear        bool
}

// take stores token as the time, the day, the month or the year: the first of the four that is missing and that token
// looks like.
func (d *date) take(token []byte) {
	if !d.hasTime && d.takeTime(token) {
		return
	}
	if n, digits := leadingNumber(token); !d.hasDay && digits >= 1 && digits <= 2 {
		d.day, d.hasDay = n, true
		return
	}
	if d.month == 0 && len(token) >= 3 {
		if d.month = monthOf(token[:3]); d.month != 0 {
			return
		}
	}
	if n, digits := leadingNumber(token); !d.hasYear && digits >= 2 && digits <= 4 {
		d.year, d.hasYear = n, true
	}
}

// takeTime reads "h:m:s", one or two digits each.
func (d *date) takeTime(token []byte) bool {
	var parts [3]int
	for i := range parts {
		n, digits := leadingNumber(token)
		if digits < 1 || digits > 2 {
			return false
		}
		parts[i], token = n, token[digits:]
		if i == 2 {
			break
		}
		if len(token) == 0 || token[0] != ':' {
			return false
		}
		token = token[1:]
	}
	d.hour, d.minute, d.second, d.hasTime = parts[0], parts[1], parts[2], true
	return true
}

// leadingNumber returns the decimal number at the start of token, and how many digits it has. It stops counting at 5
// digits.
func leadingNumber(token []byte) (n, digits int) {
	for digits < len(token) && digits < 5 && ascii.IsDigit(token[digits]) {
		n = n*10 + int(token[digits]-'0')
		digits++
	}
	return n, digits
}

func monthOf(name []byte) time.Month {
	const names = "janfebmaraprmayjunjulaugsepoctnovdec"
	for i := 0; i < len(names); i += 3 {
		if ascii.EqualFold(name, names[i:i+3]) {
			return time.Month(i/3 + 1)
		}
	}
	return 0
}

func (d *date) time() (time.Time, bool) {
	switch {
	case d.year >= 70 && d.year <= 99:
		d.year += 1900
	case d.year <= 69:
		d.year += 2000
	}
	complete := d.hasTime && d.hasDay && d.month != 0 && d.hasYear
	if !complete || d.year < 1601 || d.hour > 23 || d.minute > 59 || d.second > 59 {
		return time.Time{}, false
	}
	t := time.Date(d.year, d.month, d.day, d.hour, d.minute, d.second, 0, time.UTC)
	return t, d.day > 0 && t.Day() == d.day // not the 31st of February
}
