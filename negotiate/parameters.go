package negotiate

import (
	"iter"

	"github.com/gallop-http/gallop/internal/ascii"
)

// parameter is a parameter of an offer, and what a media range says about it.
type parameter struct {
	name, value string
	wanted      bool // the range has a parameter of this name
	equal       bool // the last one in the range has an equal value
}

// matchParameters reports whether an offer has all parameters of a media range with equal values, in any order. It
// also returns how many offered parameters the range names. If the range repeats a parameter, the last one counts. An
// offer does not repeat any.
func matchParameters(wanted, offered string) (n specificity, ok bool) {
	var room [10]parameter // nothing is allocated unless an offer has more
	parameters := appendParameters(room[:0], offered)
	for name, value := range eachParameter(wanted) {
		i := indexOf(parameters, name)
		if i < 0 {
			return 0, false
		}
		parameters[i].wanted = true
		parameters[i].equal = equalValues(parameters[i].value, value)
	}
	return countEqual(parameters)
}

// appendParameters parses the parameters of an offer.
func appendParameters(dst []parameter, offered string) []parameter {
	for name, value := range eachParameter(offered) {
		dst = append(dst, parameter{name: name, value: value})
	}
	return dst
}

// indexOf returns the index of the parameter with this name, or -1.
func indexOf(parameters []parameter, name string) int {
	for i := range parameters {
		if equalFold(parameters[i].name, name) {
			return i
		}
	}
	return -1
}

// countEqual returns how many parameters are wanted, and reports whether all of them have equal values.
func countEqual(parameters []parameter) (n specificity, ok bool) {
	for i := range parameters {
		if !parameters[i].wanted {
			continue
		}
		if !parameters[i].equal {
			return 0, false
		}
		n++
	}
	return n, true
}

// eachParameter returns an iterator over the names and raw values in the text after the first semicolon (RFC 9110
// §5.6.6). The text between two semicolons may be empty.
func eachParameter(text string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for start := 0; start < len(text); {
			end := endOf(text, start, ';')
			if p := ascii.TrimOWS(text[start:end]); p != "" && !yield(splitParameter(p)) {
				return
			}
			start = end + 1
		}
	}
}

// splitParameter returns the name and the raw value of a parameter, without the blanks around them.
func splitParameter(s string) (name, value string) {
	name, value = ascii.Cut(s, '=')
	return ascii.TrimOWS(name), ascii.TrimOWS(value)
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
