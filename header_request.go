package gallop

import (
	"bytes"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// RequestHeader holds the method, target, version and headers of a request.
//
// The zero value is a GET request for "/" without headers, ready to use. Do not copy a RequestHeader; use CopyTo.
// Only one goroutine at a time may use a RequestHeader.
//
// Headers keep their order and their spelling. Lookups ignore the case of the name. Methods return slices that point
// into the header's buffer. On a server, a returned slice is valid until the handler returns. Outside a handler, a
// returned slice is valid until Reset is called. Later changes to the header do not change the contents of a returned
// slice.
//
// Setters prevent header injection. Setters refuse a name that is not a token. Setters remove whitespace at both ends
// of a value. For control characters, see [RequestHeader.Set]. If the value is empty, a setter that is named after a
// header, such as SetHost, removes the header. The method Set, in contrast, stores a header with an empty value.
type RequestHeader struct {
	_ noCopy
	header
}

var (
	defaultMethod = []byte(MethodGet)
	defaultTarget = []byte("/")
)

// Reset makes h the zero value again, but keeps its memory for reuse.
func (h *RequestHeader) Reset() { h.reset() }

// CopyTo makes dst a copy of h that shares no memory with h.
func (h *RequestHeader) CopyTo(dst *RequestHeader) { h.copyTo(&dst.header) }

// Method returns the method. The default is "GET". Methods are case sensitive.
func (h *RequestHeader) Method() []byte {
	if h.head.Method.Len == 0 {
		return defaultMethod
	}
	return h.head.Fields.Bytes(h.head.Method)
}

// SetMethod sets the method. SetMethod refuses a method that is not a token or is longer than 64 bytes. The empty
// method means GET.
func (h *RequestHeader) SetMethod(method string) { h.SetMethodBytes(UnsafeBytes(method)) }

// SetMethodBytes does the same as [RequestHeader.SetMethod], but takes a []byte.
func (h *RequestHeader) SetMethodBytes(method []byte) {
	if len(method) > 0 && !ascii.IsToken(method) || len(method) > message.MaxMethod || !h.room(len(method)) {
		return
	}
	h.head.MethodID, h.head.TargetChecked = message.MethodOf(method), false
	h.head.Method = field.Store(&h.head.Fields, method)
}

// methodID returns the method as the protocol knows it.
func (h *RequestHeader) methodID() message.Method {
	if h.head.Method.Len == 0 {
		return message.Get
	}
	return h.head.MethodID
}

// IsGet reports whether the method is GET.
func (h *RequestHeader) IsGet() bool { return h.methodID() == message.Get }

// IsHead reports whether the method is HEAD.
func (h *RequestHeader) IsHead() bool { return h.methodID() == message.HeadMethod }

// IsPost reports whether the method is POST.
func (h *RequestHeader) IsPost() bool { return h.methodID() == message.Post }

// IsPut reports whether the method is PUT.
func (h *RequestHeader) IsPut() bool { return h.methodID() == message.Put }

// IsDelete reports whether the method is DELETE.
func (h *RequestHeader) IsDelete() bool { return h.methodID() == message.Delete }

// IsConnect reports whether the method is CONNECT.
func (h *RequestHeader) IsConnect() bool { return h.methodID() == message.Connect }

// IsOptions reports whether the method is OPTIONS.
func (h *RequestHeader) IsOptions() bool { return h.methodID() == message.Options }

// IsTrace reports whether the method is TRACE.
func (h *RequestHeader) IsTrace() bool { return h.methodID() == message.Trace }

// IsPatch reports whether the method is PATCH.
func (h *RequestHeader) IsPatch() bool { return h.methodID() == message.Patch }

// IsQuery reports whether the method is QUERY.
func (h *RequestHeader) IsQuery() bool { return string(h.Method()) == MethodQuery }

// RequestURI returns the request target from the request line (RFC 9112 §3.2), which usually consists of a path and a
// query.
func (h *RequestHeader) RequestURI() []byte {
	if h.head.Target.Len == 0 {
		return defaultTarget
	}
	return h.head.Fields.Bytes(h.head.Target)
}

// SetRequestURI sets the request target. The target is sent unchanged, except that spaces become %20. A target with a
// control character is refused. An empty target means "/". If a target begins with a question mark, "/" is added in
// front of it (RFC 9112 §3.2.1).
func (h *RequestHeader) SetRequestURI(requestURI string) {
	h.SetRequestURIBytes(UnsafeBytes(requestURI))
}

// SetRequestURIBytes does the same as [RequestHeader.SetRequestURI], but takes a []byte.
func (h *RequestHeader) SetRequestURIBytes(requestURI []byte) {
	if ascii.IndexControl(requestURI) < len(requestURI) || bytes.IndexByte(requestURI, '\t') >= 0 {
		return
	}
	if bare := len(requestURI) > 0 && requestURI[0] == '?'; bare || bytes.IndexByte(requestURI, ' ') >= 0 {
		target := h.scratch[:0]
		if bare {
			target = append(target, '/')
		}
		requestURI = appendWithoutBlanks(target, requestURI)
		h.scratch = requestURI
	}
	if h.room(len(requestURI)) {
		h.head.Target, h.head.TargetChecked = field.Store(&h.head.Fields, requestURI), false
	}
}

func appendWithoutBlanks(dst, target []byte) []byte {
	for _, c := range target {
		if c == ' ' {
			dst = append(dst, "%20"...)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// Protocol returns the version of the request, for example "HTTP/1.1", "HTTP/1.0" or "HTTP/2.0". If SetProtocol was
// called, the result is the value that was passed to SetProtocol. Use ProtoAtLeast to compare versions.
func (h *RequestHeader) Protocol() []byte {
	if name := h.head.Reason; name.Len > 0 {
		return h.head.Fields.Bytes(name)
	}
	return h.header.Protocol()
}

// ProtoAtLeast reports whether the version of the request is at least major.minor. If SetProtocol has set a name that
// is not a version of HTTP, the result is false.
func (h *RequestHeader) ProtoAtLeast(major, minor int) bool {
	p := h.Protocol()
	if len(p) != len("HTTP/1.1") || string(p[:len("HTTP/")]) != "HTTP/" || p[6] != '.' || !isDigit(p[5]) || !isDigit(p[7]) {
		return false
	}
	gotMajor, gotMinor := int(p[5]-'0'), int(p[7]-'0')
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// SetProtocol sets the version to HTTP/1.1 or HTTP/1.0. With any other name, such as "HTTP/2.0", the request is sent as
// HTTP/1.1. The method Protocol still returns the name that was set. Over HTTP/2, SetProtocol has no effect on what is
// sent.
func (h *RequestHeader) SetProtocol(protocol string) { h.setProtocol(UnsafeBytes(protocol)) }

// SetProtocolBytes does the same as [RequestHeader.SetProtocol], but takes a []byte.
func (h *RequestHeader) SetProtocolBytes(protocol []byte) { h.setProtocol(protocol) }

// setProtocol sets the version. A name that is not a version is stored in head.Reason, because requests have no
// reason phrase.
func (h *RequestHeader) setProtocol(protocol []byte) {
	if h.header.setProtocol(protocol) {
		h.head.Reason = field.Span{}
		return
	}
	if ascii.IndexControl(protocol) == len(protocol) && h.room(len(protocol)) {
		h.header.setProtocol(versionBytes[len("HTTP/1.0") : 2*len("HTTP/1.0")])
		h.head.Reason = field.Store(&h.head.Fields, protocol)
	}
}

// RawHeaders returns the header lines as they were received, including the empty line after them. If there are no
// header lines, or if the header was not received, the result is nil. The result does not reflect later changes to the
// header.
func (h *RequestHeader) RawHeaders() []byte {
	if h.head.Lines.Len <= 2 {
		return nil
	}
	return h.head.Fields.Bytes(h.head.Lines)
}

// ContentLength returns the number of bytes of the body. If the length is unknown, the result is LengthUnknown. For a
// received GET or HEAD request without a body, the result is -2. For any other request without a body, the result is
// 0.
func (h *RequestHeader) ContentLength() int {
	n := h.header.ContentLength()
	if n == -2 && !h.IsGet() && !h.IsHead() {
		return 0
	}
	return n
}

// SetContentLength sets the length of the body in bytes. A negative number, such as LengthUnknown, means that the
// length is unknown.
func (h *RequestHeader) SetContentLength(contentLength int) {
	if contentLength >= 0 {
		h.frame(message.Fixed, int64(contentLength))
	} else {
		h.frame(message.Chunked, -1)
	}
}

// Set sets the value of the first header with this name and removes all other headers with this name. If there is no
// such header, Set adds one. As in fasthttp, Set adds cookies to the Cookie header and keeps the existing cookies. To
// replace the cookies, call DelAllCookies before Set, or use DisableSpecialHeader.
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
func (h *RequestHeader) Set(key, value string) { h.set(UnsafeBytes(key), UnsafeBytes(value)) }

// TrySet does the same as Set, but returns an error that wraps ErrInvalidHeader if the header is refused. Unlike Set,
// TrySet also refuses a value with a control character. After an error, the header is unchanged.
func (h *RequestHeader) TrySet(key, value string) error {
	return h.try(key, value, h.flags&plainFields == 0 && field.Lookup(UnsafeBytes(key)) == field.Cookie)
}

func (h *RequestHeader) set(name, value []byte) {
	id := field.Lookup(name)
	h.put(id, name, value, id == field.Cookie && h.flags&plainFields == 0)
}

// DisableSpecialHeader makes the client send headers in the order in which they were set. The client adds only the
// headers that frame the body. User-Agent and Content-Type are not added. Host stays at its position, although RFC 9110
// §7.2 recommends that Host comes first. After DisableSpecialHeader, Set replaces the existing cookies. The result
// reports whether special headers were already disabled.
func (h *RequestHeader) DisableSpecialHeader() bool { return !h.changeFlag(plainFields, true) }

// EnableSpecialHeader undoes DisableSpecialHeader. The result reports whether special headers were already enabled.
func (h *RequestHeader) EnableSpecialHeader() bool { return !h.changeFlag(plainFields, false) }

// Host returns the value of Host.
func (h *RequestHeader) Host() []byte { return h.head.Fields.PeekID(field.Host) }

// SetHost sets Host.
func (h *RequestHeader) SetHost(host string) { h.setKnown(field.Host, UnsafeBytes(host)) }

// UserAgent returns the value of User-Agent.
func (h *RequestHeader) UserAgent() []byte { return h.head.Fields.PeekID(field.UserAgent) }

// SetUserAgent sets User-Agent.
func (h *RequestHeader) SetUserAgent(userAgent string) {
	h.setKnown(field.UserAgent, UnsafeBytes(userAgent))
}

// Referer returns the value of Referer.
func (h *RequestHeader) Referer() []byte { return h.head.Fields.PeekID(field.Referer) }

// SetReferer sets Referer.
func (h *RequestHeader) SetReferer(referer string) { h.setKnown(field.Referer, UnsafeBytes(referer)) }

// ContentType returns the value of Content-Type.
func (h *RequestHeader) ContentType() []byte { return h.head.Fields.PeekID(field.ContentType) }

// SetByteRange sets Range to the bytes from startPos to endPos, both included (RFC 9110 §14.1.2). A negative endPos
// requests everything from startPos to the end. A negative startPos requests bytes at the end: if startPos is -100, the
// last 100 bytes.
func (h *RequestHeader) SetByteRange(startPos, endPos int) {
	var room [64]byte
	b := append(room[:0], "bytes="...)
	if startPos < 0 {
		b = append(b, '-')
		b = ascii.AppendUint(b, -uint64(startPos))
	} else {
		b = ascii.AppendUint(b, uint64(startPos))
		b = append(b, '-')
		if endPos >= 0 {
			b = ascii.AppendUint(b, uint64(endPos))
		}
	}
	h.setKnown(field.Range, b)
}

const multipartForm = "multipart/form-data"

// MultipartFormBoundary returns the boundary in the Content-Type header. If the Content-Type is not multipart/form-data
// or has no boundary, the result is nil.
func (h *RequestHeader) MultipartFormBoundary() []byte {
	contentType := h.ContentType()
	media, _ := ascii.Cut(contentType, ';')
	if !ascii.EqualFold(ascii.TrimOWS(media), multipartForm) {
		return nil
	}
	var boundary []byte
	VisitHeaderParams(contentType, func(key, value []byte) bool {
		if ascii.EqualFold(key, "boundary") {
			boundary = value
		}
		return boundary == nil
	})
	return boundary
}

// SetMultipartFormBoundary sets Content-Type to multipart/form-data with this boundary.
func (h *RequestHeader) SetMultipartFormBoundary(boundary string) {
	h.SetMultipartFormBoundaryBytes(UnsafeBytes(boundary))
}

// SetMultipartFormBoundaryBytes does the same as [RequestHeader.SetMultipartFormBoundary], but takes a []byte.
func (h *RequestHeader) SetMultipartFormBoundaryBytes(boundary []byte) {
	b := append(h.scratch[:0], multipartForm+"; boundary="...)
	if ascii.IsToken(boundary) {
		b = append(b, boundary...)
	} else if bytes.IndexByte(boundary, '"') < 0 && bytes.IndexByte(boundary, '\\') < 0 && ascii.IndexControl(boundary) == len(boundary) {
		b = append(append(append(b, '"'), boundary...), '"')
	} else {
		return
	}
	h.scratch = b
	h.setKnown(field.ContentType, b)
}

// HasAcceptEncoding reports whether Accept-Encoding lists this content coding with a weight above zero (RFC 9110
// §12.5.3). If the coding is not listed, the weight of the wildcard "*" counts. A malformed weight counts as zero. If a
// coding occurs several times, the lowest weight counts.
func (h *RequestHeader) HasAcceptEncoding(acceptEncoding string) bool {
	return h.HasAcceptEncodingBytes(UnsafeBytes(acceptEncoding))
}

// HasAcceptEncodingBytes does the same as [RequestHeader.HasAcceptEncoding], but takes a []byte.
func (h *RequestHeader) HasAcceptEncodingBytes(acceptEncoding []byte) bool {
	l := &h.head.Fields
	listed, accepted, others := false, true, false
	for i := l.FindID(field.AcceptEncoding); i >= 0; i = field.Next(l, i, field.AcceptEncoding, "") {
		for list := l.Value(i); len(list) > 0; {
			var member []byte
			member, list = ascii.Cut(list, ',')
			coding, params := ascii.Cut(member, ';')
			switch coding = ascii.TrimOWS(coding); {
			case len(coding) == 0:
			case ascii.EqualFold(coding, acceptEncoding):
				listed, accepted = true, accepted && weight(params) > 0
			case string(coding) == "*":
				others = weight(params) > 0
			}
		}
	}
	if listed {
		return accepted
	}
	return others
}
