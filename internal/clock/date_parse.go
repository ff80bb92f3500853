package clock

import (
	"errors"
	"time"
)

var errDate = errors.New("clock: not an HTTP date: want one like Sun, 06 Nov 1994 08:49:37 GMT")

// ParseHTTPDate parses an HTTP-date in any of the three forms that RFC 9110 §5.6.7 requires recipients to accept, and
// returns it in UTC:
//
//	Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate, the only one to send
//	Sunday, 06-Nov-94 08:49:37 GMT   RFC 850
//	Sun Nov  6 08:49:37 1994         asctime
//
// Names may be in any case, and the day of the week may be wrong. A two-digit year is the latest one that is at most
// fifty years ahead. The leap second 23:59:60 is read as the following second. ParseHTTPDate does not allocate.
func ParseHTTPDate(b []byte) (time.Time, error) {
	switch {
	case len(b) == DateLen && b[3] == ',':
		return parseFixdate(b)
	case len(b) == len("Sun Nov  6 08:49:37 1994") && b[3] == ' ':
		return parseAsctime(b)
	default:
		return parseRFC850(b, time.Now())
	}
}

// parseFixdate parses "Sun, 06 Nov 1994 08:49:37 GMT". b has that length.
func parseFixdate(b []byte) (time.Time, error) {
	d := fields{ok: true}
	d.name(b[0:3], dayNames)
	d.text(b[3:5], ", ")
	day := d.number(b[5:7])
	d.text(b[7:8], " ")
	month := d.name(b[8:11], monthNames) + 1
	d.text(b[11:12], " ")
	year := 100*d.number(b[12:14]) + d.number(b[14:16])
	d.text(b[16:17], " ")
	d.clock(b[17:25])
	d.text(b[25:29], " GMT")
	return d.time(year, month, day)
}

// parseAsctime parses "Sun Nov  6 08:49:37 1994". b has that length.
func parseAsctime(b []byte) (time.Time, error) {
	d := fields{ok: true}
	d.name(b[0:3], dayNames)
	d.text(b[3:4], " ")
	month := d.name(b[4:7], monthNames) + 1
	d.text(b[7:8], " ")
	var day int
	if b[8] == ' ' {
		day = d.digit(b[9])
	} else {
		day = d.number(b[8:10])
	}
	d.text(b[10:11], " ")
	d.clock(b[11:19])
	d.text(b[19:20], " ")
	year := 100*d.number(b[20:22]) + d.number(b[22:24])
	return d.time(year, month, day)
}

// longDayNames are the full names of dayNames.
var longDayNames = [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

// parseRFC850 parses "Sunday, 06-Nov-94 08:49:37 GMT".
func parseRFC850(b []byte, now time.Time) (time.Time, error) {
	const rest = len(", 06-Nov-94 08:49:37 GMT")
	n := len(b) - rest
	if n < len("Sunday") || n > len("Wednesday") {
		return time.Time{}, errDate
	}
	d := fields{ok: true}
	d.ok = equalFold(b[:n], longDayNames[d.name(b[:3], dayNames)])
	b = b[n:]
	d.text(b[0:2], ", ")
	day := d.number(b[2:4])
	d.text(b[4:5], "-")
	month := d.name(b[5:8], monthNames) + 1
	d.text(b[8:9], "-")
	year := d.number(b[9:11])
	d.text(b[11:12], " ")
	d.clock(b[12:20])
	d.text(b[20:24], " GMT")
	return d.time(d.century(year, month, day, now), month, day)
}

// fields collects the parts of a date. A part that cannot be parsed clears ok; its method still returns values in
// range.
type fields struct {
	ok                   bool
	hour, minute, second int
}

// text checks that b is s.
func (d *fields) text(b []byte, s string) { d.ok = d.ok && string(b) == s }

// digit parses a decimal digit.
func (d *fields) digit(c byte) int {
	if c-'0' > 9 {
		d.ok = false
		return 0
	}
	return int(c - '0')
}

// number parses two decimal digits.
func (d *fields) number(b []byte) int { return 10*d.digit(b[0]) + d.digit(b[1]) }

// name looks b up in a list of names of three letters, and returns its index.
func (d *fields) name(b []byte, list string) int {
	for i := 0; i < len(list); i += 3 {
		if equalFold(b, list[i:i+3]) {
			return i / 3
		}
	}
	d.ok = false
	return 0
}

// clock parses "08:49:37".
func (d *fields) clock(b []byte) {
	d.hour, d.minute, d.second = d.number(b[0:2]), d.number(b[3:5]), d.number(b[6:8])
	d.text(b[2:3], ":")
	d.text(b[5:6], ":")
	leap := d.hour == 23 && d.minute == 59 && d.second == 60
	d.ok = d.ok && d.hour < 24 && d.minute < 60 && (d.second < 60 || leap)
}

// century returns the latest year that ends in the two digits of year and makes the date at most fifty years in the
// future.
func (d *fields) century(year, month, day int, now time.Time) int {
	limit := now.UTC().AddDate(50, 0, 0)
	year = limit.Year() - (limit.Year()-year)%100
	if time.Date(year, time.Month(month), day, d.hour, d.minute, d.second, 0, time.UTC).After(limit) {
		year -= 100
	}
	return year
}

// time returns the date if all parts were valid and the month has that day.
func (d *fields) time(year, month, day int) (time.Time, error) {
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if !d.ok || t.Day() != day {
		return time.Time{}, errDate
	}
	offset := time.Duration(d.hour*3600+d.minute*60+d.second) * time.Second
	return t.Add(offset), nil
}

// equalFold reports whether b equals name, ignoring the case of letters. name consists of ASCII letters. c|0x20 is a
// lower-case letter only for the two cases of that letter.
func equalFold(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i, c := range b {
		if c|0x20 != name[i]|0x20 {
			return false
		}
	}
	return true
}
