package gallop

import (
	"bufio"
	"io"

	"github.com/gallop-http/gallop/internal/http1"
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
	case http1.Post, http1.Put, http1.Patch:
		return false
	}
	return true
}

// WriteTo writes the request to w. WriteTo implements io.WriterTo.
func (req *Request) WriteTo(w io.Writer) (int64, error) { return writeMessage(req, w) }

// String returns the request as Write would write it. If writing fails, String returns the error's text. String consumes
// a body stream, so use String for debugging only.
func (req *Request) String() string { return messageText(req) }
