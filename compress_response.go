package gallop

import (
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
)

// compressor compresses responses with a coding that the client accepts. It chooses the coding that the client
// likes best, and the first one among equals.
type compressor struct {
	offers []coding.Coding
	levels [coding.Zstd + 1]int
}

// compress compresses resp, the response to req, if that is worthwhile.
//
// The response to HEAD gets the same headers as the response to GET, except for the length, which is unknown
// without compressing (RFC 9110 §9.3.2).
func (c *compressor) compress(req *Request, resp *Response) {
	if resp.StatusCode() == StatusNotModified {
		resp.noteVaries() // because the full response may do so: RFC 9110 §15.4.5
		resp.weakenFor(&req.Header)
		return
	}
	if resp.StatusCode() == StatusPartialContent && resp.isPartOfEncodable() {
		resp.noteVaries() // because the full response does so: RFC 9110 §15.3.7
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

func (c *compressor) choose(fields *field.List) coding.Coding {
	var accepted acceptedCodings
	accepted.reset()
	for i := fields.FindID(field.AcceptEncoding); i >= 0; i = field.Next(fields, i, field.AcceptEncoding, "") {
		accepted.add(fields.Value(i))
	}
	return accepted.choose(c.offers)
}
