package gallop

import (
	"bufio"
	"io"

	"github.com/gallop-http/gallop/internal/message"
)

// Write writes the request to w without flushing it. A body of unknown size is sent in chunks. If a stream is shorter
// or longer than the size passed to SetBodyStream, Write returns an error. After an error, do not use w's connection
// for another request.
func (req *Request) Write(w *bufio.Writer) error {
	out := req.Header.asStored()
	return req.write(w, &out)
}

// write does the same as Write and adds what the connection contributes to the header. It sets out.length.
func (req *Request) write(w *bufio.Writer, out *outgoing) error {
	content, err := req.prepare(out)
	if err != nil {
		return err
	}
	if _, err := w.Write(req.Header.appendHead(w.AvailableBuffer(), out)); err != nil {
		return err
	}
	switch {
	case !req.IsBodyStream():
		_, err := w.Write(content)
		return err
	case out.length >= 0:
		return req.writeFixed(w, int(out.length))
	}
	return req.writeChunked(w, &req.Header.trailers)
}

// prepare updates the header, sets out.length, and returns the body unless it is a stream.
func (req *Request) prepare(out *outgoing) (content []byte, err error) {
	if err := req.updateHeader(); err != nil {
		return nil, err
	}
	content = req.content()
	if req.err != nil {
		return nil, req.err
	}
	out.length = req.streamLength(&req.Header.header)
	if out.length == lengthChunked && req.Header.sentMinor() == 0 && req.IsBodyStream() {
		// HTTP/1.0 has no chunks, and a request cannot end with the connection.
		if content = req.Body(); req.err != nil {
			return nil, req.err
		}
	}
	if !req.IsBodyStream() {
		out.length = req.lengthOf(content)
	}
	return content, nil
}

// lengthOf returns the length to announce for a body of these bytes.
func (req *Request) lengthOf(content []byte) int64 {
	if len(content) == 0 && req.isBodiless() {
		return lengthNone
	}
	return int64(len(content))
}

// content returns the body unless it is a stream. If the body is empty, it returns the encoded arguments of
// PostArgs.
func (req *Request) content() []byte {
	if req.IsBodyStream() {
		return nil
	}
	if b := req.Body(); len(b) > 0 {
		return b
	}
	if !req.postArgsParsed { // PostArgs was not called
		return nil
	}
	args := req.postArgs.QueryString()
	if len(args) > 0 && len(req.Header.ContentType()) == 0 && req.Header.flags&noDefaultContentType == 0 {
		req.Header.SetContentType(mediaTypeForm)
	}
	return args
}

// isBodiless reports whether the request can omit Content-Length if it has no body, because its method does not
// anticipate one (RFC 9110 §8.6). Unknown methods count as such.
func (req *Request) isBodiless() bool {
	switch req.Header.methodID() {
	case message.Post, message.Put, message.Patch:
		return false
	}
	return true
}

// WriteTo writes the request to w. WriteTo implements io.WriterTo.
func (req *Request) WriteTo(w io.Writer) (int64, error) { return writeMessage(req, w) }

// String returns the request in the form in which Write writes it. If writing fails, String returns the error's text.
// String consumes a body stream, so use String for debugging only.
func (req *Request) String() string { return messageText(req) }

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

// Write writes the response to w without flushing it. A body of unknown size is sent in chunks. If a stream is
// shorter or longer than the size passed to SetBodyStream, Write returns an error. After an error, do not use w's
// connection for another response.
//
// If the status allows no body or SkipBody is set, Write sends only the status line and headers. If SkipBody is set
// and the length of the body is known, the headers include that Content-Length.
func (resp *Response) Write(w *bufio.Writer) error {
	out := resp.Header.asStored()
	return resp.write(w, &out, resp.Header.sentMinor() == 0)
}

// write does the same as Write and adds what the connection contributes to the header. It sets out.length. It
// also sets out.close if the body ends with the connection, because HTTP/1.0 clients do not know chunks (RFC
// 9112 §7.1).
func (resp *Response) write(w *bufio.Writer, out *outgoing, http10 bool) error {
	if resp.err != nil {
		return resp.err
	}
	resp.frame(out, http10)
	if _, err := w.Write(resp.Header.appendHead(w.AvailableBuffer(), out)); err != nil {
		return err
	}
	if !resp.IsBodyStream() {
		if resp.mayHaveBody() {
			_, err := w.Write(resp.Body())
			return err
		}
		return nil
	}
	return resp.writeStream(w, out)
}

// frame sets out.length and out.close, which decide how the body is sent.
func (resp *Response) frame(out *outgoing, http10 bool) {
	stream := resp.IsBodyStream()
	if !resp.mayHaveBody() {
		out.length = resp.absentLength(http10)
		return
	}
	if out.length = int64(len(resp.bytes())); stream {
		out.length = resp.streamLength(&resp.Header.header)
	}
	if out.length == lengthChunked && http10 {
		out.length, out.close = lengthUntilClose, true
	}
}

// absentLength returns the length to announce for a response whose body is not sent. It is none for 1xx and
// 204, 0 for 205, and the length that was set for 304. For HEAD it is the length that the body would have (RFC
// 9110 §8.6 and §15.3.6, RFC 9112 §6.1).
func (resp *Response) absentLength(http10 bool) int64 {
	switch code := resp.StatusCode(); {
	case code < 200 || code == StatusNoContent:
		return lengthNone
	case code == StatusResetContent:
		return 0
	case code == StatusNotModified:
		return max(resp.Header.sentLength(), lengthNone)
	case resp.IsBodyStream():
		if n := resp.streamLength(&resp.Header.header); n >= 0 || !http10 {
			return n
		}
		return lengthNone
	}
	if n := len(resp.bytes()); n > 0 {
		return int64(n)
	}
	return max(resp.Header.sentLength(), lengthNone)
}

// writeStream writes the body stream after the head.
func (resp *Response) writeStream(w *bufio.Writer, out *outgoing) (err error) {
	if resp.ImmediateHeaderFlush {
		if err = w.Flush(); err != nil {
			resp.dropStream(err)
			return err
		}
	}
	switch {
	case !resp.mayHaveBody():
		return resp.dropStream(nil)
	case out.length >= 0:
		return resp.writeFixed(w, int(out.length))
	case out.length == lengthUntilClose:
		return resp.writeRaw(w)
	}
	return resp.writeChunked(w, &resp.Header.trailers)
}

// WriteTo writes the response to w. WriteTo implements io.WriterTo.
func (resp *Response) WriteTo(w io.Writer) (int64, error) { return writeMessage(resp, w) }

// String returns the response in the form in which Write writes it. If writing fails, String returns the error's text.
// String consumes a body stream, so use String for debugging only.
func (resp *Response) String() string { return messageText(resp) }
