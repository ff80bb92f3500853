package gallop

import (
	"fmt"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
)

// ResponseHeader is the head of a response: version, status and fields.
//
// The zero value is that of a 200 without any field, ready to use. Everything else
// that RequestHeader says about copies, views, names, and what setters refuse,
// holds here too.
//
// What a server adds on the way out — Server, Date, Content-Type, the fields that
// frame the body — is not in the header, and gives way to what is. A response goes
// out as HTTP/1.1, whatever version it was received with, unless SetProtocol says
// otherwise.
type ResponseHeader struct {
	_ noCopy
	header
}

var defaultContentType = []byte("text/plain; charset=utf-8")

// Reset makes h the zero value again, but keeps its storage for the next use.
func (h *ResponseHeader) Reset() { h.reset() }

// CopyTo makes dst a copy of h that shares no memory with it.
func (h *ResponseHeader) CopyTo(dst *ResponseHeader) { h.copyTo(&dst.header) }

// StatusCode returns the status code, 200 if none is set.
func (h *ResponseHeader) StatusCode() int {
	if h.head.Status == 0 {
		return StatusOK
	}
	return h.head.Status
}

// SetStatusCode sets the status code, three digits (RFC 9110 §15); 0 stands for 200.
// It panics if statusCode is less than 100 or more than 999. The reason phrase is that of
// the code unless SetStatusMessage set another one.
func (h *ResponseHeader) SetStatusCode(statusCode int) {
	if (statusCode < 100 || statusCode > 999) && statusCode != 0 {
		panicStatusCode(statusCode)
	}
	if statusCode != h.head.Status && h.flags&reasonSet == 0 {
		h.head.Reason = field.Span{}
	}
	h.head.Status = statusCode
}

// panicStatusCode panics because statusCode cannot be sent.
func panicStatusCode(statusCode int) {
	panic(fmt.Sprintf("gallop: status code %d does not have three digits", statusCode))
}

// StatusMessage returns the reason phrase that was received or set, nil without
// one. What goes out then is the usual phrase of the status code: see the function StatusMessage.
func (h *ResponseHeader) StatusMessage() []byte { return h.head.Fields.Bytes(h.head.Reason) }

// SetStatusMessage sets the reason phrase, with a blank for each control character in
// it; the empty one undoes it. HTTP/2 has no reason phrases: there it is not sent, and StatusMessage returns nil for what was received.
func (h *ResponseHeader) SetStatusMessage(statusMessage []byte) {
	if !h.room(len(statusMessage)) {
		return
	}
	h.head.Reason = field.Store(&h.head.Fields, withoutControls(statusMessage))
	h.changeFlag(reasonSet, len(statusMessage) > 0)
}

// SetProtocol sets the version, HTTP/1.1 or HTTP/1.0. Others are refused. Over HTTP/2 it has no effect.
func (h *ResponseHeader) SetProtocol(protocol []byte) { h.setProtocol(protocol) }

// SetContentLength sets the length of the body in bytes, or to LengthUnknown or LengthUntilClose. Any other negative number means
// LengthUntilClose.
//
// A server frames the body that it sends by what it knows of it; this is for those
// who write the head themselves.
func (h *ResponseHeader) SetContentLength(contentLength int) {
	switch {
	case contentLength >= 0:
		h.frame(http1.Fixed, int64(contentLength))
	case contentLength == -1:
		h.frame(http1.Chunked, -1)
	default:
		h.frame(http1.UntilClose, -1)
	}
}

// ContentType returns the value of Content-Type. Without one, it is what goes out
// with a body: "text/plain; charset=utf-8", or nil after
// SetNoDefaultContentType(true) or if the response was received.
func (h *ResponseHeader) ContentType() []byte {
	if v := h.head.Fields.PeekID(field.ContentType); v != nil {
		return v
	}
	if h.flags&noDefaultContentType != 0 || h.head.Parsed() {
		return nil
	}
	return defaultContentType
}

// SetNoDefaultDate says whether the response goes out without Date if none is set
// (true), or with the time at which it is sent (false).
func (h *ResponseHeader) SetNoDefaultDate(noDefault bool) { h.changeFlag(noDefaultDate, noDefault) }

// Set gives the first field with this name that value and removes the others; without one it
// adds it. The first keeps its place. Set-Cookie is added as Add does it, as in fasthttp: call Del or
// DelAllCookies first to replace cookies.
//
// Content-Length must be a number and Transfer-Encoding can only be chunked, which
// is SetContentLength; Connection is a list of tokens; Trailer is SetTrailer. Names
// that Trailer announces go behind the body.
//
// A control character in a value, such as the end of a line, becomes a blank. In Host, in cookies and
// in the headers above, Set refuses the value, and it refuses an invalid name. It changes nothing then.
//
// TrySet returns an error instead.
func (h *ResponseHeader) Set(key, value string) { h.set(UnsafeBytes(key), UnsafeBytes(value)) }

// TrySet does what Set does, but returns an error that wraps ErrInvalidHeader if it refuses the field. Unlike Set it also refuses a value with
// a control character. Use it for headers that must not go missing, such as those for security. After an error the header is unchanged.
func (h *ResponseHeader) TrySet(key, value string) error {
	return h.try(key, value, field.Lookup(UnsafeBytes(key)) == field.SetCookie)
}

func (h *ResponseHeader) set(name, value []byte) {
	id := field.Lookup(name)
	h.put(id, name, value, id == field.SetCookie)
}

// Peek returns the value of the first field with this name, whatever the case of its
// letters, nil without one. For Content-Type it returns what ContentType does. It joins several
// Set-Cookie with "; ", as fasthttp does; PeekAll and Cookies keep them apart. A field that
// was announced by SetTrailer and set is found as well; a trailer that was received is not
// (see PeekTrailer).
func (h *ResponseHeader) Peek(key string) []byte { return h.peek(UnsafeBytes(key)) }

func (h *ResponseHeader) peek(name []byte) []byte {
	v := h.header.peek(name)
	switch {
	case v == nil && field.Lookup(name) == field.ContentType:
		return h.ContentType()
	case v != nil && len(name) == len(HeaderSetCookie) && field.Lookup(name) == field.SetCookie:
		return h.peekSetCookies()
	}
	return v
}

// PeekAll returns the values of all fields with this name, in order, and for Content-Type
// what ContentType returns. The slice is used again by the next call of PeekAll.
func (h *ResponseHeader) PeekAll(key string) [][]byte {
	values := h.header.PeekAll(key)
	if len(values) > 0 || field.Lookup(UnsafeBytes(key)) != field.ContentType {
		return values
	}
	if v := h.ContentType(); v != nil {
		h.peeked = append(h.peeked, v)
	}
	return h.peeked
}

// Server returns the value of Server.
func (h *ResponseHeader) Server() []byte { return h.head.Fields.PeekID(field.Server) }

// SetServer sets Server.
func (h *ResponseHeader) SetServer(server string) { h.setKnown(field.Server, UnsafeBytes(server)) }

// SetLastModified sets Last-Modified.
func (h *ResponseHeader) SetLastModified(t time.Time) {
	var room [len("Mon, 02 Jan 2006 15:04:05 GMT")]byte
	h.setKnown(field.LastModified, AppendHTTPDate(room[:0], t))
}

// SetContentRange sets Content-Range to the bytes from startPos to endPos, both
// included, of contentLength ones (RFC 9110 §14.4). A negative contentLength is
// written as "*", for unknown, and a negative startPos as a range that cannot be
// satisfied.
func (h *ResponseHeader) SetContentRange(startPos, endPos, contentLength int) {
	var room [80]byte
	b := append(room[:0], "bytes "...)
	if startPos < 0 {
		b = append(b, '*')
	} else {
		b = ascii.AppendUint(b, uint64(startPos))
		b = append(b, '-')
		b = ascii.AppendUint(b, uint64(max(endPos, 0)))
	}
	b = append(b, '/')
	if contentLength < 0 {
		b = append(b, '*')
	} else {
		b = ascii.AppendUint(b, uint64(contentLength))
	}
	h.setKnown(field.ContentRange, b)
}
