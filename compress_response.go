package gallop

import (
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
)

// compressor puts responses into codings their clients accept: of those offered
// the one the client likes best, of equals the first.
type compressor struct {
	offers []coding.Coding
	levels [coding.Zstd + 1]int
}

// compress puts resp, the answer to req, into a coding if that is of use.
//
// The answer to HEAD gets the fields that the answer to GET would have, except for
// the length, which nobody knows without the work (RFC 9110 §9.3.2).
func (c *compressor) compress(req *Request, resp *Response) {
	if resp.StatusCode() == StatusNotModified {
		resp.noteVaries() // as the answer may do for which it stands: RFC 9110 §15.4.5
		resp.weakenFor(&req.Header)
		return
	}
	if resp.StatusCode() == StatusPartialContent && resp.isPartOfEncodable() {
		resp.noteVaries() // as the whole does: RFC 9110 §15.3.7
		return
	}
	head := req.Header.IsHead()
	if !resp.allowsCoding() || !head && !resp.isEncodable() || head && !resp.isBigEnoughForHead() {
		return
	}
	resp.noteVaries()
	to := c.choose(&req.Header.head.Fields)
	switch {
	case to == coding.Identity:
	case head:
		resp.ResetBody()
		resp.noteEncoded(to)
	default:
		resp.encode(to, c.levels[to])
	}
}

// weakenFor makes the tag of a 304 the weak one of a compressed answer, if that is what the client has: a strong one would
// be that of another representation (RFC 9110 §15.4.5, RFC 9111 §4.3.4).
func (resp *Response) weakenFor(h *RequestHeader) {
	tag := resp.Header.Peek(HeaderETag)
	if len(tag) == 0 || tag[0] != '"' {
		return
	}
	weak := "W/" + string(tag)
	for _, line := range h.PeekAll(HeaderIfNoneMatch) {
		if hasEntityTag(line, weak) {
			resp.Header.Set(HeaderETag, weak)
			return
		}
	}
}

func (c *compressor) choose(fields *field.List) coding.Coding {
	var accepted acceptedCodings
	accepted.reset()
	for i := fields.FindID(field.AcceptEncoding); i >= 0; i = field.Next(fields, i, field.AcceptEncoding, "") {
		accepted.add(fields.Value(i))
	}
	return accepted.choose(c.offers)
}

// isBigEnoughForHead is isBigEnough for a handler that may have left out the body
// and set its length only.
func (resp *Response) isBigEnoughForHead() bool {
	if n := resp.Header.sentLength(); n >= 0 && !resp.IsBodyStream() && len(resp.Body()) == 0 {
		return n >= minEncodedSize
	}
	return resp.isBigEnough()
}
