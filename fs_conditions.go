package gallop

import (
	"bytes"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
)

// validator is what a representation is recognised by (RFC 9110 §8.8).
type validator struct {
	tag      []byte    // with its quotes, nil if there is none
	modified time.Time // in whole seconds, zero if it is not known
	coarse   bool      // other codings or versions of the same may have this time, too
}

// stableAfter is how long nothing may have changed before a modification time is
// taken for a strong validator: file systems and HTTP dates are coarse, and a file may
// change twice in a tick (RFC 9110 §8.8.2.2).
const stableAfter = 2 * time.Second

func isStable(modified time.Time) bool { return time.Since(modified) >= stableAfter }

// FailedCondition evaluates the conditions of the request, such as If-None-Match (RFC 9110 §13.2.2). FailedCondition
// compares the conditions with the ETag and Last-Modified headers of ctx.Response. If a condition fails,
// FailedCondition returns the status for the response, which is 304 or 412. If no condition fails, the result is 0.
func (ctx *RequestCtx) FailedCondition() int {
	v := responseValidator(&ctx.Response)
	return v.failedCondition(&ctx.Request.Header, ctx.IsGet() || ctx.IsHead())
}

// AllowsRange reports whether the handler may respond with the ranges that the request asks for. The result is true
// only for a GET request with one Range header. An If-Range header must equal the ETag or Last-Modified header of
// ctx.Response (RFC 9110 §14.2). The matching ETag or Last-Modified header must be a strong validator (RFC 9110
// §13.1.5).
func (ctx *RequestCtx) AllowsRange() bool {
	v := responseValidator(&ctx.Response)
	return ctx.IsGet() && len(ctx.Request.Header.PeekAll(HeaderRange)) == 1 && v.allowsRange(&ctx.Request.Header)
}

// responseValidator returns the validator in the head of resp.
func responseValidator(resp *Response) validator {
	v := validator{tag: resp.Header.Peek(HeaderETag)}
	if modified, err := ParseHTTPDate(resp.Header.Peek(HeaderLastModified)); err == nil {
		v.modified = modified
	}
	return v
}

// failedCondition evaluates the conditions of a request in the order of RFC 9110 §13.2.2. If one of them fails,
// it returns the status of the response, 304 or 412. If not, it returns 0. reading says that the method is GET
// or HEAD.
func (v *validator) failedCondition(h *RequestHeader, reading bool) int {
	if tags := conditionTags(h, HeaderIfMatch); tags != nil {
		if !v.matchesAny(tags, true) {
			return StatusPreconditionFailed
		}
	} else if date, ok := v.conditionDate(h, HeaderIfUnmodifiedSince); ok && v.modified.After(date) {
		return StatusPreconditionFailed
	}
	if tags := conditionTags(h, HeaderIfNoneMatch); tags != nil {
		switch {
		case !v.matchesAny(tags, false):
			return 0
		case reading:
			return StatusNotModified
		}
		return StatusPreconditionFailed
	}
	if date, ok := v.conditionDate(h, HeaderIfModifiedSince); ok && reading && !v.modified.After(date) {
		return StatusNotModified
	}
	return 0
}

// conditionTags returns the lines of a field that lists entity tags, nil if it says nothing.
func conditionTags(h *RequestHeader, name string) [][]byte {
	lines := h.PeekAll(name)
	for _, line := range lines {
		if len(line) > 0 {
			return lines
		}
	}
	return nil
}

// conditionDate returns the date in the field, if there is one to compare with
// (RFC 9110 §13.1.3: a field that is not one date, or no date to compare, is ignored).
func (v *validator) conditionDate(h *RequestHeader, name string) (time.Time, bool) {
	lines := h.PeekAll(name)
	if len(lines) != 1 || v.modified.IsZero() {
		return time.Time{}, false
	}
	date, err := ParseHTTPDate(lines[0])
	return date, err == nil
}

// matchesAny reports whether lists, "*" or entity tags, have that of v. A list counts up
// to where it is not one any more.
func (v *validator) matchesAny(lists [][]byte, strong bool) bool {
	for _, list := range lists {
		if string(list) == "*" {
			return true
		}
		for {
			list = bytes.TrimLeft(list, " \t,")
			tag, rest := cutEntityTag(list)
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
func (v *validator) matches(tag []byte, strong bool) bool {
	if strong {
		return len(tag) > 0 && tag[0] == '"' && bytes.Equal(tag, v.tag)
	}
	return v.tag != nil && bytes.Equal(opaqueTag(tag), opaqueTag(v.tag))
}

// allowsRange reports whether If-Range lets a Range field count: there is none, or what it
// has is strong and exactly v (RFC 9110 §13.1.5): bytes of one coding behind those of another
// are garbage.
func (v *validator) allowsRange(h *RequestHeader) bool {
	lines := h.PeekAll(HeaderIfRange)
	if len(lines) == 0 {
		return true
	}
	if len(lines) > 1 {
		return false
	}
	if tag, rest := cutEntityTag(lines[0]); tag != nil {
		return len(ascii.TrimOWS(rest)) == 0 && v.matches(tag, true)
	}
	date, ok := v.conditionDate(h, HeaderIfRange)
	return ok && !v.coarse && date.Equal(v.modified) && isStable(v.modified)
}
