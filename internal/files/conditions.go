package files

import (
	"bytes"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/clock"
)

// Validator is what a representation is recognised by (RFC 9110 §8.8).
type Validator struct {
	Tag      []byte    // with its quotes, nil if there is none
	Modified time.Time // in whole seconds, zero if it is not known
	Coarse   bool      // other codings or versions of the same may have this time, too
}

// stableAfter is how long nothing may have changed before a modification time is
// taken for a strong validator: file systems and HTTP dates are coarse, and a file may
// change twice in a tick (RFC 9110 §8.8.2.2).
const stableAfter = 2 * time.Second

func isStable(modified time.Time) bool { return time.Since(modified) >= stableAfter }

// Conditions are the values of the fields that make a request conditional, a value for each line.
type Conditions struct {
	Match, UnmodifiedSince, NoneMatch, ModifiedSince [][]byte
}

// The status codes of failed conditions.
const (
	notModified        = 304
	preconditionFailed = 412
)

// Failed evaluates the conditions of a request in the order of RFC 9110 §13.2.2. If one of them fails, it returns
// the status of the response, 304 or 412. If not, it returns 0. reading says that the method is GET or HEAD.
func (v *Validator) Failed(c *Conditions, reading bool) int {
	if isSet(c.Match) {
		if !v.matchesAny(c.Match, true) {
			return preconditionFailed
		}
	} else if date, ok := v.date(c.UnmodifiedSince); ok && v.Modified.After(date) {
		return preconditionFailed
	}
	if isSet(c.NoneMatch) {
		switch {
		case !v.matchesAny(c.NoneMatch, false):
			return 0
		case reading:
			return notModified
		}
		return preconditionFailed
	}
	if date, ok := v.date(c.ModifiedSince); ok && reading && !v.Modified.After(date) {
		return notModified
	}
	return 0
}

// isSet reports whether the lines of a field that lists entity tags say anything.
func isSet(lines [][]byte) bool {
	for _, line := range lines {
		if len(line) > 0 {
			return true
		}
	}
	return false
}

// date returns the date in the lines of a field, if there is one to compare with
// (RFC 9110 §13.1.3: a field that is not one date, or no date to compare, is ignored).
func (v *Validator) date(lines [][]byte) (time.Time, bool) {
	if len(lines) != 1 || v.Modified.IsZero() {
		return time.Time{}, false
	}
	date, err := clock.ParseHTTPDate(lines[0])
	return date, err == nil
}

// matchesAny reports whether lists, "*" or entity tags, have that of v. A list counts up
// to where it is not one any more.
func (v *Validator) matchesAny(lists [][]byte, strong bool) bool {
	for _, list := range lists {
		if string(list) == "*" {
			return true
		}
		for {
			list = bytes.TrimLeft(list, " \t,")
			tag, rest := cutTag(list)
			if tag == nil {
				break
			}
			if v.matches(tag, strong) {
				return true
			}
			list = rest
		}
	}
	return false
}

// matches compares entity tags: strongly both have to be strong (RFC 9110 §8.8.3.2).
func (v *Validator) matches(tag []byte, strong bool) bool {
	if strong {
		return IsStrong(tag) && bytes.Equal(tag, v.Tag)
	}
	return v.Tag != nil && bytes.Equal(opaqueTag(tag), opaqueTag(v.Tag))
}

// AllowsRange reports whether the lines of If-Range let a Range field count: there is none, or what it
// has is strong and exactly v (RFC 9110 §13.1.5): bytes of one coding behind those of another
// are garbage.
func (v *Validator) AllowsRange(lines [][]byte) bool {
	if len(lines) == 0 {
		return true
	}
	if len(lines) > 1 {
		return false
	}
	if tag, rest := cutTag(lines[0]); tag != nil {
		return len(ascii.TrimOWS(rest)) == 0 && v.matches(tag, true)
	}
	date, ok := v.date(lines)
	return ok && !v.Coarse && date.Equal(v.Modified) && isStable(v.Modified)
}
