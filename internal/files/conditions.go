package files

import (
	"bytes"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/clock"
)

// Validator identifies a version of a representation (RFC 9110 §8.8).
type Validator struct {
	Tag      []byte    // the entity tag with its quotes, or nil
	Modified time.Time // the modification time in whole seconds, zero if unknown
	Coarse   bool      // other codings or versions may have the same modification time
}

// stableAfter is how long ago the last change must be for a modification time to count as a strong validator. File
// systems and HTTP dates are coarse, and a file may change twice in a tick (RFC 9110 §8.8.2.2).
const stableAfter = 2 * time.Second

func isStable(modified time.Time) bool { return time.Since(modified) >= stableAfter }

// Conditions contains the fields that make a request conditional. Each element is the value of one header line.
type Conditions struct {
	Match, UnmodifiedSince, NoneMatch, ModifiedSince [][]byte
}

// The status codes of failed conditions.
const (
	notModified        = 304
	preconditionFailed = 412
)

// Failed evaluates the conditions of a request in the order of RFC 9110 §13.2.2. If a condition fails, Failed returns
// the status of the response, 304 or 412. If no condition fails, the result is 0. reading says that the method is GET
// or HEAD.
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

// isSet reports whether a line of a field that lists entity tags is not empty.
func isSet(lines [][]byte) bool {
	for _, line := range lines {
		if len(line) > 0 {
			return true
		}
	}
	return false
}

// date returns the date in a field that v can be compared with. A field is ignored if it has several lines or no valid
// date, or if v has no modification time (RFC 9110 §13.1.3).
func (v *Validator) date(lines [][]byte) (time.Time, bool) {
	if len(lines) != 1 || v.Modified.IsZero() {
		return time.Time{}, false
	}
	date, err := clock.ParseHTTPDate(lines[0])
	return date, err == nil
}

// matchesAny reports whether the tag of v is in one of the lists. The list "*" contains every tag. A malformed list
// counts up to its first error.
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

// matches compares tag with the tag of v. In the strong comparison, both tags have to be strong (RFC 9110 §8.8.3.2).
func (v *Validator) matches(tag []byte, strong bool) bool {
	if strong {
		return IsStrong(tag) && bytes.Equal(tag, v.Tag)
	}
	return v.Tag != nil && bytes.Equal(opaqueTag(tag), opaqueTag(v.Tag))
}

// AllowsRange reports whether the Range field of a request counts. lines are the lines of If-Range. If there is a line,
// it must be a strong validator that equals v (RFC 9110 §13.1.5). Otherwise, a client could join parts of two versions.
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
