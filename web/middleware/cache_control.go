package middleware

import (
	"bytes"
	"math"
	"time"
)

// The syntax of Cache-Control (RFC 9111 §5.2), without a clock.

// directives reads the directives of one line of Cache-Control, one after the other.
type directives struct {
	rest      []byte
	malformed bool // the line has a quoted string that does not end, or bytes after one
}

// next returns the next directive. The argument is without its quotes and without its escapes; it is nil if the directive has none.
func (d *directives) next() (name, argument []byte, ok bool) {
	d.rest = bytes.TrimLeft(d.rest, ", \t")
	if len(d.rest) == 0 {
		return nil, nil, false
	}
	end := bytes.IndexAny(d.rest, "=,")
	if end < 0 {
		end = len(d.rest)
	}
	name, d.rest = bytes.TrimRight(d.rest[:end], " \t"), d.rest[end:]
	if len(d.rest) == 0 || d.rest[0] == ',' {
		return name, nil, true
	}
	if d.rest = d.rest[1:]; len(d.rest) > 0 && d.rest[0] == '"' {
		return name, d.quoted(), true
	}
	if end = bytes.IndexByte(d.rest, ','); end < 0 {
		end = len(d.rest)
	}
	argument, d.rest = d.rest[:end:end], d.rest[end:]
	if bytes.IndexByte(argument, '"') >= 0 { // where it ends is a matter of opinion
		d.malformed = true
	}
	return name, bytes.TrimRight(argument, " \t"), true
}

// quoted reads a quoted string, which is at the start of the rest.
func (d *directives) quoted() []byte {
	text, escaped := d.rest[1:], false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			after := bytes.TrimLeft(text[i+1:], " \t")
			if len(after) > 0 && after[0] != ',' {
				d.malformed = true
			}
			d.rest = after
			if escaped {
				return withoutEscapes(text[:i])
			}
			return text[:i:i]
		}
	}
	d.malformed, d.rest = true, nil
	return text
}

func withoutEscapes(text []byte) []byte {
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		plain = append(plain, text[i])
	}
	return plain
}

// isDirective compares names of directives, which are not case-sensitive.
func isDirective(name []byte, want string) bool {
	return len(name) == len(want) && bytes.EqualFold(name, []byte(want))
}

// maxDelta is the largest number of seconds that a directive can have, about 68 years (RFC 9111 §1.2.2).
const maxDelta = math.MaxInt32

// unset is the value of a directive that is missing.
const unset time.Duration = -1

// deltaSeconds returns the argument of a directive as a duration. ok is false if the argument is not a number.
func deltaSeconds(argument []byte) (d time.Duration, ok bool) {
	if len(argument) == 0 {
		return 0, false
	}
	n := int64(0)
	for _, b := range argument {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = min(n*10+int64(b-'0'), maxDelta)
	}
	return time.Duration(n) * time.Second, true
}

// requestControl is the Cache-Control of a request.
type requestControl struct {
	noCache, noStore, onlyIfCached bool
	maxAge, minFresh               time.Duration // or unset
	maxStale                       time.Duration // or unset; math.MaxInt64 without an argument
}

// parseRequestControl reads the lines of Cache-Control and Pragma of a request. A directive with a malformed argument counts as
// no-cache, because then the client gets a response that cannot be too old.
func parseRequestControl(lines, pragma [][]byte) requestControl {
	q := requestControl{maxAge: unset, minFresh: unset, maxStale: unset}
	for _, line := range lines {
		d := directives{rest: line}
		for {
			name, argument, ok := d.next()
			if !ok {
				break
			}
			q.set(name, argument)
		}
		q.noCache = q.noCache || d.malformed
	}
	if len(lines) == 0 {
		for _, line := range pragma { // RFC 9111 §5.4
			d := directives{rest: line}
			for name, _, ok := d.next(); ok; name, _, ok = d.next() {
				q.noCache = q.noCache || isDirective(name, "no-cache")
			}
		}
	}
	return q
}

func (q *requestControl) set(name, argument []byte) {
	switch {
	case isDirective(name, "no-cache"):
		q.noCache = true
	case isDirective(name, "no-store"):
		q.noStore = true
	case isDirective(name, "only-if-cached"):
		q.onlyIfCached = true
	case isDirective(name, "max-age"):
		q.maxAge = q.atMost(q.maxAge, argument)
	case isDirective(name, "min-fresh"):
		d, ok := deltaSeconds(argument)
		q.noCache = q.noCache || !ok
		q.minFresh = max(q.minFresh, d)
	case isDirective(name, "max-stale"):
		if argument == nil {
			argument = []byte("9999999999") // any age (RFC 9111 §5.2.1.2)
		}
		if d, ok := deltaSeconds(argument); ok { // else the client accepts nothing stale
			q.maxStale = d
		}
	}
}

// atMost returns the smaller one of a duration and an argument.
func (q *requestControl) atMost(have time.Duration, argument []byte) time.Duration {
	d, ok := deltaSeconds(argument)
	if !ok {
		q.noCache = true
		return have
	}
	if have == unset {
		return d
	}
	return min(have, d)
}

// responseControl is the Cache-Control of a response.
type responseControl struct {
	noStore, private, noCache, public bool
	mustRevalidate                    bool          // or proxy-revalidate, which s-maxage implies
	authorized                        bool          // it allows storing the response to a request with Authorization (RFC 9111 §3.5)
	maxAge, sharedMaxAge              time.Duration // or unset; 0 if the argument is malformed or not unique
	whileRevalidate, ifError          time.Duration // stale-while-revalidate and stale-if-error, 0 if they are missing
}

// parseResponseControl reads the lines of Cache-Control of a response. If it is unclear what a line says, the response counts as
// no-store.
func parseResponseControl(lines [][]byte) responseControl {
	p := responseControl{maxAge: unset, sharedMaxAge: unset}
	for _, line := range lines {
		d := directives{rest: line}
		for {
			name, argument, ok := d.next()
			if !ok {
				break
			}
			p.set(name, argument)
		}
		p.noStore = p.noStore || d.malformed
	}
	return p
}

// set sets a directive. The forms private="name" and no-cache="name" count as private and no-cache, which is the safe choice.
func (p *responseControl) set(name, argument []byte) {
	switch {
	case isDirective(name, "no-store"):
		p.noStore = true
	case isDirective(name, "private"):
		p.private = true
	case isDirective(name, "no-cache"):
		p.noCache = true
	case isDirective(name, "public"):
		p.public, p.authorized = true, true
	case isDirective(name, "must-revalidate"):
		p.mustRevalidate, p.authorized = true, true
	case isDirective(name, "proxy-revalidate"):
		p.mustRevalidate = true
	case isDirective(name, "s-maxage"):
		p.sharedMaxAge = lifetimeOf(p.sharedMaxAge, argument)
		p.mustRevalidate, p.authorized = true, true // RFC 9111 §5.2.2.10
	case isDirective(name, "max-age"):
		p.maxAge = lifetimeOf(p.maxAge, argument)
	case isDirective(name, "stale-while-revalidate"):
		p.whileRevalidate, _ = deltaSeconds(argument)
	case isDirective(name, "stale-if-error"):
		p.ifError, _ = deltaSeconds(argument)
	}
}

// lifetimeOf returns the argument of a directive. A response whose argument is malformed, or that has the directive with two different
// arguments, counts as stale (RFC 9111 §4.2.1).
func lifetimeOf(have time.Duration, argument []byte) time.Duration {
	d, ok := deltaSeconds(argument)
	if !ok || have != unset && have != d {
		return 0
	}
	return d
}
