// Package figure formats numbers and text for people: durations, bytes, rates, colors.
package figure

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Duration formats like k6: two decimals in the largest unit below the duration, cut off rather than rounded.
func Duration(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d < 0:
		// The smallest duration has no positive counterpart.
		return "-" + Duration(-max(d, -math.MaxInt64))
	case d < time.Microsecond:
		return strconv.Itoa(int(d)) + "ns"
	case d < time.Millisecond:
		return cut(d, time.Microsecond) + "µs"
	case d < time.Second:
		return cut(d, time.Millisecond) + "ms"
	case d < time.Minute:
		return cut(d, time.Second) + "s"
	}
	d = d.Truncate(time.Second)
	s := strconv.Itoa(int(d/time.Minute)%60) + "m" + strconv.Itoa(int(d/time.Second)%60) + "s"
	if d >= time.Hour {
		s = strconv.Itoa(int(d/time.Hour)) + "h" + s
	}
	return s
}

// cut formats d in a unit with at most two decimals, without rounding up and without zeros at the end.
func cut(d, unit time.Duration) string {
	return strconv.FormatFloat(float64(d*100/unit)/100, 'f', -1, 64)
}

// Bytes formats a number of bytes in powers of 1,000.
func Bytes(n float64) string {
	if n < 10 {
		return strconv.FormatFloat(math.Round(n), 'f', 0, 64) + " B"
	}
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	unit := 0
	for n >= 999.5 && unit < len(units)-1 {
		n /= 1000
		unit++
	}
	decimals := 0
	if n < 9.95 {
		decimals = 1
	}
	return strconv.FormatFloat(n, 'f', decimals, 64) + " " + units[unit]
}

// Rate formats a rate per second with six digits after the point, like k6.
func Rate(n float64) string { return strconv.FormatFloat(n, 'f', 6, 64) + "/s" }

// ShortRate formats a rate per second with about four digits.
func ShortRate(n float64) string {
	if n >= 1000 {
		return Count(int64(math.Round(n))) + "/s"
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + "/s"
}

// Count formats an integer with commas between groups of three digits.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent formats part of whole with two decimals. It is cut off rather than rounded, so that 99.999 % is not 100 %.
func Percent(part, whole int64) string {
	if whole == 0 {
		return "0.00%"
	}
	return strconv.FormatFloat(math.Floor(float64(part)*1e4/float64(whole))/100, 'f', 2, 64) + "%"
}

// Line makes text from the network safe to print in one line of a terminal. Control characters, which could move the cursor
// or change colors, become escapes. Text beyond most characters is cut off.
func Line(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n++; n > most {
			b.WriteString("…")
			break
		}
		if c == '\\' || !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			quoted := strconv.QuoteRuneToASCII(c)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}
