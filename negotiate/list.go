package negotiate

import (
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// member is an element of the list in a header (RFC 9110 §12.5, §5.6.1). One without a name is empty, which is
// allowed, or malformed. It is ignored.
type member struct {
	name       string // a media range, charset, coding or language range
	parameters string // with the weight among them, unless that is all there is
	quality    int16  // the weight in thousandths, if parameters is empty
}

const (
	maxQuality = 1000
	minQuality = 1 // the lowest weight that is not a refusal
)

// cutFrom sets m to the first member of a list and returns the rest.
func (m *member) cutFrom(list string) (rest string) {
	first := list
	if end := strings.IndexByte(list, ','); end >= 0 {
		first, rest = list[:end], list[end+1:]
	}
	m.parameters, m.quality = "", maxQuality
	if semicolon := strings.IndexByte(first, ';'); semicolon >= 0 {
		behind := first[semicolon+1:]
		var ok bool
		if m.quality, ok = onlyWeight(behind); !ok {
			if m.parameters = behind; strings.IndexByte(behind, '"') >= 0 {
				m.parameters, rest = cutParameters(list[semicolon+1:])
			}
		}
		first = first[:semicolon]
	}
	m.name = ascii.TrimOWS(first)
	return rest
}

// cutParameters splits a list within a member, at the first comma outside quotes.
func cutParameters(list string) (parameters, rest string) {
	end := endOf(list, 0, ',')
	return list[:end], list[min(end+1, len(list)):]
}

// equalFold is a version of ascii.EqualFold that is faster for names in headers. They are mostly spelled alike, and
// if they differ, they differ at the end and not in "application/".
func equalFold(a, b string) bool { return len(a) == len(b) && (a == b || equalFromEnd(a, b)) }

func equalFromEnd(a, b string) bool {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] && ascii.Lower(a[i]) != ascii.Lower(b[i]) {
			return false
		}
	}
	return true
}

// endOf returns the index of the first sep from start on that is not in a quoted string (RFC 9110 §5.6.4), or len(s).
func endOf(s string, start int, sep byte) int {
	for i := start; i < len(s); i++ {
		switch s[i] {
		case sep:
			return i
		case '"':
			i = endOfQuoted(s, i)
		}
	}
	return len(s)
}

// endOfQuoted returns the index of the quote that ends the string beginning at start, or len(s).
func endOfQuoted(s string, start int) int {
	for i := start + 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(s)
}

// nextParameter splits parameters after the first semicolon (RFC 9110 §5.6.6). The text between two semicolons may be
// empty.
func nextParameter(s string) (parameter, rest string) {
	end := endOf(s, 0, ';')
	return ascii.TrimOWS(s[:end]), s[min(end+1, len(s)):]
}

// splitParameter returns the name and the raw value of a parameter.
func splitParameter(s string) (name, value string) {
	name, value, _ = strings.Cut(s, "=")
	return ascii.TrimOWS(name), ascii.TrimOWS(value)
}

// onlyWeight returns the weight, and whether it is the only parameter, which is nearly always the case.
func onlyWeight(parameters string) (quality int16, ok bool) {
	p := ascii.TrimOWS(parameters)
	if len(p) > 2 && p[0]|0x20 == 'q' && p[1] == '=' {
		return parseQuality(p[2:])
	}
	return maxQuality, p == ""
}

// weight returns the weight of m in thousandths.
func (m *member) weight() int16 {
	if m.parameters == "" {
		return m.quality
	}
	for rest := m.parameters; rest != ""; {
		var parameter string
		parameter, rest = nextParameter(rest)
		if q, ok := weightOf(parameter); ok {
			return q
		}
	}
	return maxQuality
}

// weightOf reports whether a parameter is the weight, and returns it in thousandths. Parameters after the weight are
// ignored (RFC 9110 §12.5.1, note on accept-ext).
//
// If the weight is malformed, like the ".2" of some old clients, the member gets the lowest weight that is not a
// refusal.
func weightOf(parameter string) (quality int16, ok bool) {
	if parameter == "" || parameter[0]|0x20 != 'q' {
		return 0, false
	}
	name, value := splitParameter(parameter)
	if len(name) != len("q") {
		return 0, false
	}
	if quality, ok = parseQuality(value); !ok {
		quality = minQuality
	}
	return quality, true
}

// parseQuality parses a weight and returns it in thousandths (RFC 9110 §12.4.2).
func parseQuality(s string) (quality int16, ok bool) {
	if len(s) == 0 || len(s) > len("0.123") || len(s) > 1 && s[1] != '.' {
		return 0, false
	}
	for i, unit := range [...]int16{1000, 0, 100, 10, 1} {
		if i == 1 {
			continue
		}
		if i >= len(s) {
			break
		}
		digit := s[i] - '0'
		if digit > 9 {
			return 0, false
		}
		quality += unit * int16(digit)
	}
	return quality, quality <= maxQuality
}
