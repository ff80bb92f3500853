package gallop

import (
	"crypto/tls"
	"io"
	"net"
	"os"

	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/message"
)

// Response is an HTTP response.
//
// The zero value is an empty 200 response, ready to use. Do not copy a Response; use CopyTo. Only one goroutine at a
// time may use a Response. The methods of a Response return slices that point into the response's buffers. A returned
// slice is valid until the response is changed, reset or released. In a handler, a returned slice is valid only until
// the handler returns.
type Response struct {
	_ noCopy

	// Header is the status line and the headers.
	Header ResponseHeader

	body

	// ImmediateHeaderFlush makes Write send the headers of a streamed response before the stream yields any data.
	ImmediateHeaderFlush bool

	// StreamBody makes Read and client calls return as soon as the headers have arrived. With StreamBody, the body is a
	// stream. If an error occurs while the body arrives, a read from the stream returns the error.
	StreamBody bool

	// SkipBody says that the response belongs to a HEAD request. With SkipBody, Read reads no body, and Write writes no
	// body.
	SkipBody bool

	readWhole     bool // the body is read whole, regardless of StreamResponseBody
	remote, local net.Addr
	tls           *tls.ConnectionState
}

// Reset makes the response empty and closes its stream.
func (resp *Response) Reset() {
	resp.resetSkipHeader() // first, because a stream that is being read may write trailers
	resp.Header.Reset()
	resp.SkipBody, resp.StreamBody, resp.readWhole = false, false, false
}

// resetSkipHeader resets everything except the header, SkipBody and StreamBody. The latter two say how to read.
func (resp *Response) resetSkipHeader() {
	resp.ResetBody()
	resp.shrink(int(responseBodyKeep.Load()))
	resp.ImmediateHeaderFlush = false
	resp.remote, resp.local, resp.tls = nil, nil, nil
}

// CopyTo makes dst a copy of the response. A body stream is not copied. To include a streamed body in the copy, call
// Body first.
func (resp *Response) CopyTo(dst *Response) {
	if resp == dst {
		return
	}
	dst.Reset()
	resp.Header.CopyTo(&dst.Header)
	resp.copyBody(&dst.body)
	dst.SkipBody = resp.SkipBody
	dst.remote, dst.local, dst.tls = resp.remote, resp.local, resp.tls
}

// StatusCode returns the status code. The default is 200.
func (resp *Response) StatusCode() int { return resp.Header.StatusCode() }

// SetStatusCode sets the status code. See [ResponseHeader.SetStatusCode].
func (resp *Response) SetStatusCode(statusCode int) { resp.Header.SetStatusCode(statusCode) }

// ConnectionClose reports whether the connection is closed after this response.
func (resp *Response) ConnectionClose() bool { return resp.Header.ConnectionClose() }

// SetConnectionClose makes this response the last one on its connection.
func (resp *Response) SetConnectionClose() { resp.Header.SetConnectionClose() }

// SetBodyStream sets the body to the data in r. If the argument size is 0 or more, r must yield exactly this number of
// bytes, and the size is sent as Content-Length. If the argument size is negative, the body is sent in chunks. If r
// implements io.Closer, r is closed exactly once, when the stream is no longer needed.
func (resp *Response) SetBodyStream(r io.Reader, size int) {
	resp.setStream(r, size)
	resp.Header.SetContentLength(max(size, -1))
}

// SetBodyStreamWriter sets the body to the data that sw writes. The body is sent in chunks. The function sw runs after
// the handler has returned, when the response is written. If sw flushes its writer, the data is sent immediately.
func (resp *Response) SetBodyStreamWriter(sw StreamWriter) {
	resp.setStreamWriter(sw)
	resp.Header.SetContentLength(-1)
}

// SendFile sets the body to the file at the given path, and sets Last-Modified. SendFile does not set Content-Type.
// SendFile uses the path unchanged, so never pass a path from a request.
func (resp *Response) SendFile(path string) error {
	info, err := os.Stat(path) // first, because opening a pipe would block
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "send", Path: path, Err: errNotRegular}
	}
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return err
	}
	resp.dropBodyAndCoding()
	resp.Header.SetLastModified(info.ModTime())
	resp.SetBodyStream(f, streamSize(info.Size()))
	return nil
}

// dropBodyAndCoding removes the body and its Content-Encoding before another body is set. Without a body it keeps the
// header, because the handler has set that for the body to come.
func (resp *Response) dropBodyAndCoding() {
	if resp.IsBodyStream() || len(resp.Body()) > 0 {
		resp.ResetBody()
		resp.Header.dropCoding()
	}
}

// TakeBodyStream hands the body stream over to the caller. The caller must read and close the stream. The result size
// is the length of the body, in bytes. If the result size is -1, the whole stream is the body. After the call, the
// response's body is empty. If the body was not a stream, TakeBodyStream returns nil.
//
// Trailers that arrive after the call of TakeBodyStream are dropped, because the program may already have reused the
// response.
func (resp *Response) TakeBodyStream() (r io.Reader, size int) {
	r = resp.BodyStream()
	if r == nil {
		return nil, -1
	}
	if resp.late != nil {
		resp.late.drop()
	}
	if s, ok := r.(*bufferedBody); ok {
		s.trailers = nil
	}
	size = max(resp.size, -1)
	resp.stream, resp.source, resp.writer, resp.late = nil, nil, nil, nil
	resp.ResetBody()
	return r, size
}

// ParseNetConn stores the addresses of conn. RemoteAddr and LocalAddr then return the stored addresses.
func (resp *Response) ParseNetConn(conn net.Conn) {
	resp.remote, resp.local = conn.RemoteAddr(), conn.LocalAddr()
}

// RemoteAddr returns the address of the server that sent the response, or nil if it is unknown.
func (resp *Response) RemoteAddr() net.Addr { return resp.remote }

// LocalAddr returns the local address of the connection that the response arrived on, or nil if it is unknown.
func (resp *Response) LocalAddr() net.Addr { return resp.local }

// TLSConnectionState returns the TLS state of the connection that the response arrived on. Without TLS, the result is
// nil. Do not change the TLS state, because all responses on a connection share it.
func (resp *Response) TLSConnectionState() *tls.ConnectionState { return resp.tls }

// mayHaveBody reports whether a body is sent (RFC 9110 §6.4.1). A 205 response is framed like one with a body,
// but its body must be empty (§15.3.6).
func (resp *Response) mayHaveBody() bool {
	status := resp.StatusCode()
	return !resp.SkipBody && status != StatusResetContent && message.MayHaveBody(status, message.OtherMethod)
}

// BodyUncompressed decompresses the body according to Content-Encoding, and returns the result. The limits are the
// same as for BodyGunzip. If there is no Content-Encoding, BodyUncompressed returns the same bytes as Body. If a
// content coding is unknown, the error is ErrContentEncodingUnsupported.
//
// For a response that cannot have a body, such as a 304, the result is empty, and Content-Encoding is ignored.
func (resp *Response) BodyUncompressed() ([]byte, error) {
	return resp.uncompressedAnswer(coding.Limits{})
}

// BodyUncompressedWithLimit does the same as BodyUncompressed, but limits the result to maxBodySize bytes. See
// BodyGunzipWithLimit.
func (resp *Response) BodyUncompressedWithLimit(maxBodySize int) ([]byte, error) {
	return resp.uncompressedAnswer(decodeLimits(maxBodySize))
}

// uncompressedAnswer returns the decoded body. It is empty if the response cannot have one.
func (resp *Response) uncompressedAnswer(limits coding.Limits) ([]byte, error) {
	if !resp.mayHaveBody() && len(resp.Body()) == 0 {
		return nil, resp.err
	}
	return resp.uncompressed(&resp.Header.header, limits)
}
