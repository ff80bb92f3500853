package negotiate

import (
	"math/bits"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// How specific a media range is, from RFC 9110 §12.5.1. Each parameter adds one.
const (
	anyType    = wildcard << 8 // */*
	anySubtype = named << 8    // text/*
	exactType  = 3 << 8        // text/html
)

// setMediaType parses an offered media type.
func (c *candidate) setMediaType(offer string) {
	c.name = offer
	if end := strings.IndexByte(offer, ';'); end >= 0 {
		c.name, c.parameters = offer[:end], offer[end+1:]
	}
	if strings.IndexByte(c.name, '/') < 0 && c.name != "" {
		c.name = typeOfShortName(c.name)
	}
}

// typeOfShortName returns the media type for a name without a slash.
func typeOfShortName(name string) string {
	if t := TypeByExtension(ascii.TrimOWS(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// matchMediaType returns how specifically the member matches an offered media type, and the member's weight.
func matchMediaType(m *member, c *candidate) (s specificity, quality int16) {
	switch {
	case c.name == "":
	case equalFold(m.name, c.name):
		s = exactType
	case isWildcard(m.name):
		s = matchWildcard(m.name, c.name)
	case isWildcard(c.name) && matchWildcard(c.name, m.name) == anySubtype && m.weight() > 0:
		s = exactType
	}
	if s == 0 || m.parameters == "" {
		return s, m.quality
	}
	n, quality, ok := matchParameters(m.parameters, c.parameters)
	if !ok {
		return 0, quality
	}
	return s + n, quality
}

// matchWildcard matches a range that ends in "*".
func matchWildcard(mediaRange, name string) specificity {
	switch {
	case mediaRange == "*/*" || mediaRange == "*": // some old clients send a single "*"
		return anyType
	case strings.HasSuffix(mediaRange, "/*") && ascii.HasPrefixFold(name, mediaRange[:len(mediaRange)-1]):
		return anySubtype
	}
	return 0
}

// matchParameters reports whether the offer has all parameters that the range has before its weight, with equal
// values. It also returns how many there are, and the weight. If the range repeats a parameter, the last one counts.
// An offer has at most 64 parameters and does not repeat any.
func matchParameters(wanted, offered string) (n specificity, quality int16, ok bool) {
	var found, equal uint64 // one bit per parameter of the offer
	search := search{all: offered, rest: offered}
	for wanted != "" {
		var parameter string
		if parameter, wanted = nextParameter(wanted); parameter == "" {
			continue
		}
		if quality, ok = weightOf(parameter); ok {
			return specificity(bits.OnesCount64(found)), quality, found == equal
		}
		i, isEqual := search.find(parameter)
		if i < 0 {
			return 0, 0, false
		}
		found |= 1 << i
		equal &^= 1 << i
		if isEqual {
			equal |= 1 << i
		}
	}
	return specificity(bits.OnesCount64(found)), maxQuality, found == equal
}

// search finds parameters in an offer. It starts after the last one that was found, because both sides mostly use the
// same order.
type search struct {
	all  string
	rest string // everything after the last one found
	next int    // index of the first parameter in rest
}

// find returns the index of the parameter with the same name, or -1, and reports whether it has an equal value.
func (s *search) find(parameter string) (index int, equal bool) {
	if rest, ok := cutSame(s.rest, parameter); ok && s.next < 64 {
		s.rest = rest
		s.next++
		return s.next - 1, true
	}
	name, value := splitParameter(parameter)
	for range 2 { // from here to the end, and then from the beginning
		for s.rest != "" && s.next < 64 {
			var offered string
			offered, s.rest = nextParameter(s.rest)
			s.next++
			if itsName, itsValue := splitParameter(offered); equalFold(itsName, name) {
				return s.next - 1, equalValues(itsValue, value)
			}
		}
		s.rest, s.next = s.all, 0
	}
	return -1, false
}

// cutSame cuts off the first parameter if it is spelled exactly like this one. It ignores parameters with quotes, in
// which a semicolon is not a separator.
func cutSame(parameters, parameter string) (rest string, ok bool) {
	if strings.IndexByte(parameter, '"') >= 0 {
		return parameters, false
	}
	for parameters != "" && parameters[0] == ' ' {
		parameters = parameters[1:]
	}
	rest, ok = strings.CutPrefix(parameters, parameter)
	if rest != "" && rest[0] == ';' {
		return rest[1:], ok
	}
	return rest, ok && rest == ""
}

// equalValues reports whether two values, tokens or quoted strings, have the same text, ignoring the case of letters.
// An unterminated string is not equal to anything.
func equalValues(a, b string) bool {
	if !isQuoted(a) && !isQuoted(b) {
		return equalFold(a, b)
	}
	x, ok := textOf(a)
	y, ok2 := textOf(b)
	if !ok || !ok2 {
		return false
	}
	for {
		c, more := x.next()
		d, more2 := y.next()
		if more != more2 || ascii.Lower(c) != ascii.Lower(d) {
			return false
		}
		if !more {
			return true
		}
	}
}

func isQuoted(value string) bool { return value != "" && value[0] == '"' }

// text reads a value byte by byte.
type text struct {
	rest   string
	quoted bool // rest may contain quoted pairs
}

// textOf returns the text of a value, and reports whether the value is valid.
func textOf(value string) (t text, ok bool) {
	if !isQuoted(value) {
		return text{rest: value}, true
	}
	if endOfQuoted(value, 0) != len(value)-1 {
		return t, false
	}
	return text{rest: value[1 : len(value)-1], quoted: true}, true
}

// next returns the next byte, or false at the end. A backslash quotes the byte that follows it (RFC 9110 §5.6.4).
func (t *text) next() (c byte, ok bool) {
	if t.rest == "" {
		return 0, false
	}
	if t.quoted && t.rest[0] == '\\' {
		t.rest = t.rest[1:]
	}
	c, t.rest = t.rest[0], t.rest[1:]
	return c, true
}
