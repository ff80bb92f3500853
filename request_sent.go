package gallop

// sentHead is the head of a request as a client has sent it, and what it was made of. A
// request that is sent again as it is, as by a program that polls, is checked and put
// together once.
//
// What it was made of is compared by value, so that no setter has to tell of a change,
// and neither has who writes to a view. Only the URI is known by its uriProof.
type sentHead struct {
	text          []byte
	out           outgoing
	header        header
	uriParsed     bool
	useHostHeader bool
	valid         bool // it is what was sent last
	size          int  // of the header that was sent last: another size is another header
}

// sentBefore returns the head that was sent last if it is the one to send now, with what
// out says of the agent and the end of the connection, and else nil.
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

// keepSent keeps text, the head that is sent, if it looks as if it was to be sent again.
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

// forgetSent is called when the request becomes another one.
func (req *Request) forgetSent() {
	switch s := req.sent; {
	case s == nil:
	case cap(s.text) > maxKeptBuffer:
		req.sent = nil
	default:
		s.valid, s.size = false, 0
	}
}
