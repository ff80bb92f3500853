package gallop

// sentHead is the head that a client has sent for a request, together with the values it was made from. A
// program that polls sends the same request many times. Its head is then checked and built only once.
//
// The values are compared with the current ones, so setters need not report changes, and neither must code that
// writes to a view. Only the URI is compared by its uriProof.
type sentHead struct {
	text          []byte
	out           outgoing
	header        header
	uriParsed     bool
	useHostHeader bool
	valid         bool // text was sent last
	size          int  // size of the header that was sent last; if the size differs, the header has changed
}

// sentBefore returns the head that was sent last if the same head must be sent now, and nil otherwise. out
// contains the agent and whether the connection closes.
func (req *Request) sentBefore(out *outgoing) *sentHead {
	s := req.sent
	if s == nil || !s.valid {
		return nil
	}
	if req.IsBodyStream() || req.postArgsParsed || req.err != nil ||
		req.lengthOf(req.bytes()) != s.out.length || out.agent != s.out.agent || out.close != s.out.close ||
		req.uriParsed != s.uriParsed || req.uriParsed && req.uriProof != uriChecked ||
		req.UseHostHeader != s.useHostHeader || req.Header.flags != s.header.flags ||
		!req.Header.head.Equal(&s.header.head) {
		s.valid = false
		return nil
	}
	return s
}

// keepSent stores text, the head that is sent, if the same head is likely to be sent again.
func (req *Request) keepSent(text []byte, out *outgoing) {
	s := req.sent
	if s == nil {
		s = new(sentHead)
		req.sent = s
	}
	size := req.Header.head.Fields.Size()
	if s.size != size || req.uriParsed && req.uriProof != uriChecked {
		s.size = size
		return
	}
	s.text = append(s.text[:0], text...)
	s.out, s.uriParsed, s.useHostHeader = *out, req.uriParsed, req.UseHostHeader
	req.Header.copyTo(&s.header)
	s.valid = true
}

// forgetSent is called when the request is reset.
func (req *Request) forgetSent() {
	switch s := req.sent; {
	case s == nil:
	case cap(s.text) > maxKeptBuffer:
		req.sent = nil
	default:
		s.valid, s.size = false, 0
	}
}
