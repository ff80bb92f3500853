package http2

import "github.com/gallop-http/gallop/internal/ascii"

// Priority is how urgent a response is (RFC 9218 §4). The tree of RFC 7540 is ignored.
type Priority struct {
	Urgency     uint8 // 0 is the most urgent, 7 the least
	Incremental bool  // the client can use parts of the response
}

// defaultPriority is the priority of a request that says nothing about it.
var defaultPriority = Priority{Urgency: 3}

const urgencies = 8

// ParsePriority parses the value of a Priority field: a dictionary of structured fields (RFC 8941 §3.2) with the keys u and i.
// Unknown keys, and values of a wrong type, are ignored. If a key occurs twice, only its last value exists (RFC 8941 §4.2.2), even
// if that value is ignored. ok is false if the value is not a dictionary. The caller then ignores the whole value (RFC 8941 §4.2).
func ParsePriority[S ascii.Text](value S) (p Priority, ok bool) {
	return mergePriority(defaultPriority, defaultPriority, value)
}

// mergePriority changes p as a value of a Priority field says. Keys that are not in the value leave p as it is. Keys whose value
// is ignored become those of unset.
func mergePriority[S ascii.Text](p, unset Priority, value S) (_ Priority, ok bool) {
	d := dictionary[S]{rest: ascii.TrimOWS(value)}
	for d.next() {
		if len(d.key) != 1 {
			continue
		}
		switch d.key[0] {
		case 'u':
			p.Urgency = unset.Urgency
			if n, isInt := d.integer(); isInt && n < urgencies {
				p.Urgency = uint8(n)
			}
		case 'i':
			p.Incremental = unset.Incremental
			if d.isBool {
				p.Incremental = d.truth
			}
		}
	}
	return p, !d.bad
}

// Append appends p as the value of a Priority field. It leaves out what is the default.
func (p Priority) Append(dst []byte) []byte {
	if p.Urgency != defaultPriority.Urgency {
		dst = append(dst, 'u', '=', '0'+p.Urgency)
	}
	if p.Incremental {
		if p.Urgency != defaultPriority.Urgency {
			dst = append(dst, ',', ' ')
		}
		dst = append(dst, 'i')
	}
	return dst
}

// dictionary reads the members of a dictionary one by one. It knows enough of RFC 8941 to skip members that it does not use.
type dictionary[S ascii.Text] struct {
	rest   S
	key    S
	value  S    // without parameters; empty if isBool
	isBool bool // the member is a boolean, truth
	truth  bool
	bad    bool
}

// next reads the next member. It returns false at the end, and sets bad if the dictionary is malformed.
func (d *dictionary[S]) next() bool {
	if len(d.rest) == 0 || d.bad {
		return false
	}
	if d.key = d.takeKey(); len(d.key) == 0 {
		return d.fail()
	}
	d.isBool, d.truth = true, true
	if d.take('=') {
		if d.value = d.takeItem(); len(d.value) == 0 {
			return d.fail()
		}
		d.isBool = d.value[0] == '?'
		d.truth = d.isBool && len(d.value) == 2 && d.value[1] == '1'
	}
	if !d.skipParameters() {
		return d.fail()
	}
	d.rest = ascii.TrimOWS(d.rest)
	if len(d.rest) == 0 {
		return true
	}
	if !d.take(',') {
		return d.fail()
	}
	if d.rest = ascii.TrimOWS(d.rest); len(d.rest) == 0 {
		return d.fail()
	}
	return true
}

func (d *dictionary[S]) fail() bool {
	d.bad = true
	return false
}

// integer returns the value of the member as an integer, if it is one.
func (d *dictionary[S]) integer() (n uint64, ok bool) {
	if d.isBool || len(d.value) > 15 {
		return 0, false
	}
	return ascii.ParseUint(d.value)
}

// take skips c if it comes next.
func (d *dictionary[S]) take(c byte) bool {
	if len(d.rest) == 0 || d.rest[0] != c {
		return false
	}
	d.rest = d.rest[1:]
	return true
}

// takeKey takes a key (RFC 8941 §3.1.2).
func (d *dictionary[S]) takeKey() S {
	i := 0
	for i < len(d.rest) && isKeyByte(d.rest[i], i == 0) {
		i++
	}
	key := d.rest[:i]
	d.rest = d.rest[i:]
	return key
}

func isKeyByte(c byte, first bool) bool {
	return c >= 'a' && c <= 'z' || c == '*' || !first && (ascii.IsDigit(c) || c == '_' || c == '-' || c == '.')
}

// takeItem takes a bare item or an inner list. It checks only how far that reaches.
func (d *dictionary[S]) takeItem() S {
	i, n := 0, len(d.rest)
	switch {
	case n == 0:
	case d.rest[0] == '"':
		for i = 1; i < n && d.rest[i] != '"'; i++ {
			if d.rest[i] == '\\' {
				i++
			}
		}
		i++
	case d.rest[0] == '(':
		for i = 1; i < n && d.rest[i] != ')'; i++ {
		}
		i++
	default:
		for i < n && d.rest[i] > ' ' && d.rest[i] != ',' && d.rest[i] != ';' {
			i++
		}
	}
	if i > n {
		i = 0
	}
	item := d.rest[:i]
	d.rest = d.rest[i:]
	return item
}

// skipParameters skips the parameters of a member (RFC 8941 §3.1.2). It returns false if they are malformed.
func (d *dictionary[S]) skipParameters() bool {
	for d.take(';') {
		d.rest = ascii.TrimOWS(d.rest)
		if len(d.takeKey()) == 0 || d.take('=') && len(d.takeItem()) == 0 {
			return false
		}
	}
	return true
}
