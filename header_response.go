package gallop

import (
	"fmt"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// ResponseHeader holds the version, status and headers of a response.
//
// The zero value is a 200 response without headers, ready to use. A ResponseHeader follows the same rules as a
// RequestHeader about copies, returned slices, names and refused values.
//
// When a server sends the response, it adds Server, Date, Content-Type and the headers that frame the body. The server
// does not store the added headers in the ResponseHeader. If you set one of these headers yourself, the server does not
// add it. Unless SetProtocol sets another version, a response is sent as HTTP/1.1, even if it was received with another
// version.
type ResponseHeader struct {
	_ noCopy
	header
}

var defaultContentType = []byte("text/plain; charset=utf-8")

// Reset makes h the zero value again, but keeps its memory for reuse.
func (h *ResponseHeader) Reset() { h.reset() }

// CopyTo makes dst a copy of h that shares no memory with h.
func (h *ResponseHeader) CopyTo(dst *ResponseHeader) { h.copyTo(&dst.header) }

// StatusCode returns the status code. The default is 200.
func (h *ResponseHeader) StatusCode() int {
	if h.head.Status == 0 {
		return StatusOK
	}
	return h.head.Status
}

// SetStatusCode sets the status code, a number of three digits (RFC 9110 §15). 0 means 200. SetStatusCode panics if
// statusCode is less than 100 or more than 999. Unless SetStatusMessage sets a reason phrase, the response is sent with
// the code's usual phrase.
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

// StatusMessage returns the reason phrase that was received or set. If no phrase was received or set, the result is
// nil. The response is then sent with the usual phrase for the status code. See the function StatusMessage.
func (h *ResponseHeader) StatusMessage() []byte { return h.head.Fields.Bytes(h.head.Reason) }

// SetStatusMessage sets the reason phrase. Control characters in the phrase become spaces. An empty phrase restores
// the code's usual phrase. HTTP/2 has no reason phrases. A server does not send the phrase over HTTP/2, and
// StatusMessage returns nil for a response received over HTTP/2.
func (h *ResponseHeader) SetStatusMessage(statusMessage []byte) {
	if !h.room(len(statusMessage)) {
		return
	}
	h.head.Reason = field.Store(&h.head.Fields, withoutControls(statusMessage))
	h.changeFlag(reasonSet, len(statusMessage) > 0)
}

// SetProtocol sets the version, which must be HTTP/1.1 or HTTP/1.0. SetProtocol ignores all other versions. SetProtocol
// has no effect on responses that are sent over HTTP/2.
func (h *ResponseHeader) SetProtocol(protocol []byte) { h.setProtocol(protocol) }

// SetContentLength sets the length of the body: a number of bytes, LengthUnknown or LengthUntilClose. Any other
// negative number means LengthUntilClose.
//
// Handlers rarely need SetContentLength, because the server decides how to frame the body. Use SetContentLength if your
// program writes the headers without a server.
func (h *ResponseHeader) SetContentLength(contentLength int) {
	switch {
	case contentLength >= 0:
		h.frame(message.Fixed, int64(contentLength))
	case contentLength == -1:
		h.frame(message.Chunked, -1)
	default:
		h.frame(message.UntilClose, -1)
	}
}

// ContentType returns the value of Content-Type. If no Content-Type is set, the result is "text/plain; charset=utf-8",
// the default that is sent with a body. A received response has no default, so the result can be nil. After
// SetNoDefaultContentType(true), there is no default either.
func (h *ResponseHeader) ContentType() []byte {
	if v := h.head.Fields.PeekID(field.ContentType); v != nil {
		return v
	}
	if h.flags&noDefaultContentType != 0 || h.head.Received {
		return nil
	}
	return defaultContentType
}

// SetNoDefaultDate sets whether the server omits its own Date header. By default, a server adds Date unless the
// response already has one.
func (h *ResponseHeader) SetNoDefaultDate(noDefault bool) { h.changeFlag(noDefaultDate, noDefault) }

// Set sets the value of the first header with this name and removes all other headers with this name. If there is no
// such header, Set adds one. As in fasthttp, Set adds a Set-Cookie header and keeps the existing cookies. To replace
// the cookies, call DelAllCookies before Set.
//
// Some headers have special rules:
//
//   - Content-Length must be a number.
//   - Transfer-Encoding can only be chunked, which has the same effect as SetContentLength(LengthUnknown).
//   - Connection must be a list of tokens.
//   - Trailer has the same effect as SetTrailer: the headers named in its value become trailers, which are sent after
//     the body.
//
// Set replaces each control character in a value, such as a line break, with a space. For Host, cookies,
// Content-Length, Transfer-Encoding, Connection and Trailer, Set refuses a value with a control character. Set also
// refuses an invalid name. If Set refuses a header, nothing changes. To get an error for a refused header, use TrySet.
func (h *ResponseHeader) Set(key, value string) { h.set(UnsafeBytes(key), UnsafeBytes(value)) }

// TrySet does the same as Set, but returns an error that wraps ErrInvalidHeader if the header is refused. Unlike Set,
// TrySet also refuses a value with a control character. Use TrySet for headers that must not be missing, such as
// security headers. After an error, the header is unchanged.
func (h *ResponseHeader) TrySet(key, value string) error {
	return h.try(key, value, field.Lookup(UnsafeBytes(key)) == field.SetCookie)
}

func (h *ResponseHeader) set(name, value []byte) {
	id := field.Lookup(name)
	h.put(id, name, value, id == field.SetCookie)
}

// SetAll sets every header of from in h, in the order and with the names' spelling of from. Headers of h with the same
// names are removed. If from has several lines with one name, h gets them all. SetAll follows the rules of Set: it adds
// Set-Cookie headers and keeps the existing cookies. SetAll does not copy the status and trailers.
//
// If many responses have the same headers, prepare them once in a ResponseHeader and call SetAll for each response. SetAll
// then copies all lines in one step, unless h already has a header with one of their names. Several goroutines may call
// SetAll with the same from at the same time, as long as none changes from.
func (h *ResponseHeader) SetAll(from *ResponseHeader) {
	l, of := &h.head.Fields, &from.head.Fields
	if h == from || h.flags&announced == 0 && of.HasNone(steering) && h.room(of.Size()) && l.AddAll(of) {
		return
	}
	normalizes := h.DisableNormalizing()
	for i := range of.Len() {
		id := of.ID(i)
		name, value := of.At(i)
		if id != field.Trailer {
			h.put(id, name, value, id == field.SetCookie || field.Find(of, id, name) < i)
		}
	}
	h.changeFlag(namesAsGiven, !normalizes)
}

// steering are the headers that putSteering sets.
const steering = field.IDs(1)<<field.ContentLength | 1<<field.TransferEncoding | 1<<field.Connection | 1<<field.Expect | 1<<field.Trailer

// Peek returns the value of the first header with this name, or nil. The case of the name does not matter. For
// Content-Type, Peek returns the same value as the ContentType method. If there are several Set-Cookie headers, Peek
// joins their values with "; ", as fasthttp does. PeekAll and Cookies return Set-Cookie headers separately. Peek also
// finds a trailer that your program has announced with SetTrailer and then set. To find received trailers, use
// PeekTrailer.
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

// PeekAll returns the values of all headers with this name, in order. For Content-Type, PeekAll returns the value that
// the ContentType method returns. The next call to PeekAll reuses the returned slice.
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

// SetContentRange sets Content-Range to the bytes from startPos to endPos, both included, out of contentLength bytes
// (RFC 9110 §14.4). If contentLength is negative, the length is written as "*", which means that the length is unknown.
// A negative startPos means that the requested range cannot be satisfied.
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
