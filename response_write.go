package gallop

import (
	"bufio"
	"io"
)

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
