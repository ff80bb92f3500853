package gallop

import (
	"bufio"
	"io"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// statusLines are the status lines of the codes that have a reason phrase.
var statusLines = buildStatusLines()

func buildStatusLines() (t [len(statusMessages)]string) {
	for code, reason := range statusMessages {
		if reason != "" {
			t[code] = string(http1.AppendStatusLine(nil, code, reason))
		}
	}
	return t
}

// appendHead appends the head as a server sends it. It allocates only to grow dst.
func (h *ResponseHeader) appendHead(dst []byte, o *outgoing) []byte {
	l := &h.head.Fields
	if len(o.usual) > 0 && h.isUsual() {
		dst = append(dst, o.usual...)
	} else {
		dst = h.appendStart(dst, o)
	}
	length, status := o.length, h.StatusCode()
	if status < 200 || status == StatusNoContent {
		length = lengthNone // RFC 9110 §8.6, RFC 9112 §6.1
	}
	// A cache replaces its stored headers by those of a 304 (RFC 9111 §3.2), and this Content-Type is a guess.
	if o.defaultContentType && status != StatusNotModified && length != 0 && length != lengthNone &&
		h.flags&noDefaultContentType == 0 && !l.Has(field.ContentType) {
		dst = append(dst, "Content-Type: text/plain; charset=utf-8\r\n"...)
	}
	dst = h.appendFields(dst, length, 0)
	return h.appendFraming(dst, o, length)
}

// appendStart appends the status line, Server and Date.
func (h *ResponseHeader) appendStart(dst []byte, o *outgoing) []byte {
	l := &h.head.Fields
	dst = h.appendStatusLine(dst)
	if o.server != "" && !l.Has(field.Server) {
		dst = http1.AppendField(dst, "Server", o.server)
	}
	if !o.date.IsZero() && h.flags&noDefaultDate == 0 && !l.Has(field.Date) {
		dst = append(dst, "Date: "...)
		dst = clock.AppendDate(dst, o.date)
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// headStarts caches the start of most response heads of a server, which changes once per second. It is safe for
// concurrent use.
type headStarts struct{ last atomic.Pointer[headStart] }

// headStart is the result of appendStart for an empty header in one second. It does not change after it was
// published.
type headStart struct {
	second int64
	text   []byte
}

func (s *headStarts) at(now time.Time, server string) []byte {
	second := now.Unix()
	start := s.last.Load()
	if start == nil || start.second != second {
		var h ResponseHeader
		start = &headStart{second, h.appendStart(nil, &outgoing{server: server, date: now})}
		s.last.Store(start)
	}
	return start.text
}

// isUsual reports whether the head starts the same way as the head of an empty header.
func (h *ResponseHeader) isUsual() bool {
	l := &h.head.Fields
	return (h.head.Status == 0 || h.head.Status == StatusOK) && h.head.Reason.Len == 0 &&
		h.flags&(protocolSet|noDefaultDate) == 0 && !l.Has(field.Server) && !l.Has(field.Date)
}

func (h *ResponseHeader) appendStatusLine(dst []byte) []byte {
	start := len(dst)
	code := h.StatusCode()
	switch {
	case h.head.Reason.Len > 0:
		dst = http1.AppendStatusLine(dst, code, "")
		dst = append(dst[:len(dst)-2], h.StatusMessage()...)
		dst = append(dst, "\r\n"...)
	case code < len(statusLines) && statusLines[code] != "":
		dst = append(dst, statusLines[code]...)
	default:
		dst = http1.AppendStatusLine(dst, code, StatusMessage(code))
	}
	if h.sentMinor() == 0 {
		dst[start+len("HTTP/1.")] = '0'
	}
	return dst
}

// appendHead appends the head as a client sends it. It allocates only to grow dst.
func (h *RequestHeader) appendHead(dst []byte, o *outgoing) []byte {
	dst = append(dst, h.Method()...)
	dst = append(dst, ' ')
	dst = append(dst, h.RequestURI()...)
	if h.sentMinor() > 0 {
		dst = append(dst, " HTTP/1.1\r\n"...)
	} else {
		dst = append(dst, " HTTP/1.0\r\n"...)
	}
	first := field.IDs(0)
	if h.flags&plainFields == 0 {
		dst, first = h.appendUsual(dst, o)
	}
	dst = h.appendFields(dst, o.length, first)
	return h.appendFraming(dst, o, o.length)
}

// appendUsual appends Host, and the default headers in o that h does not have. Its second result has Host if Host was
// appended. The Host of a received head keeps its place.
func (h *RequestHeader) appendUsual(dst []byte, o *outgoing) (_ []byte, first field.IDs) {
	l := &h.head.Fields
	if host := l.FindID(field.Host); host >= 0 && !h.head.Received {
		dst = http1.AppendField(dst, "Host", l.Value(host))
		first = 1 << field.Host
	}
	if o.agent != "" && !l.Has(field.UserAgent) {
		dst = http1.AppendField(dst, "User-Agent", o.agent)
	}
	if o.defaultContentType && o.length != 0 && o.length != lengthNone &&
		h.flags&noDefaultContentType == 0 && !l.Has(field.ContentType) {
		dst = append(dst, "Content-Type: application/octet-stream\r\n"...)
	}
	return dst, first
}

// appendFields appends the stored fields in order, except those in skip and those that appendFraming writes.
func (h *header) appendFields(dst []byte, length int64, skip field.IDs) []byte {
	skip |= 1<<field.ContentLength | 1<<field.TransferEncoding | 1<<field.Connection
	if length != lengthChunked {
		skip |= 1 << field.Trailer
	}
	if !h.IsHTTP11() && h.sentMinor() > 0 {
		skip |= 1 << field.Expect // it has no effect in HTTP/1.0, but would have one in HTTP/1.1
	}
	return h.head.Fields.AppendLines(dst, skip)
}

// appendFraming appends the headers that say where the body and the connection end, and the empty line.
func (h *header) appendFraming(dst []byte, o *outgoing, length int64) []byte {
	switch {
	case length >= 0:
		dst = http1.AppendContentLength(dst, length)
	case length == lengthChunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	option := ""
	if o.close {
		option = "close"
	} else if o.keepAlive {
		option = "keep-alive"
	}
	others := h.head.Fields.Has(field.Connection)
	if option == "" && !others {
		return append(dst, "\r\n"...)
	}
	start := len(dst)
	dst = append(dst, "Connection: "...)
	empty := len(dst)
	if others {
		dst = h.appendOptions(dst, option)
	} else {
		dst = append(dst, option...)
	}
	if len(dst) == empty {
		return append(dst[:start], "\r\n"...)
	}
	return append(dst, "\r\n\r\n"...)
}

// asStored returns the outgoing that the header itself asks for.
func (h *header) asStored() outgoing {
	o := outgoing{length: h.sentLength(), close: h.ConnectionClose()}
	o.keepAlive = h.head.Flags&message.ConnectionKeepAlive != 0
	o.defaultContentType = !h.head.Received
	return o
}

// fits reports whether the buffer of w has room for the head, so that Write can append the head there. A head takes at
// most 256 bytes more than its stored fields.
func (h *header) fits(w *bufio.Writer) bool {
	l := &h.head.Fields
	return w.Available() >= l.Size()+l.Len()*len(": \r\n")+256
}

// AppendBytes appends the request line and headers to dst as they are sent, followed by an empty line. The bytes
// include everything that was set or received, except trailers.
func (h *RequestHeader) AppendBytes(dst []byte) []byte {
	o := h.asStored()
	return h.appendHead(dst, &o)
}

// Header returns the bytes that AppendBytes appends. The slice is valid until the header is changed, or until the next
// call to Header or TrailerHeader.
func (h *RequestHeader) Header() []byte {
	h.scratch = h.AppendBytes(h.scratch[:0])
	return h.scratch
}

// String returns the text that AppendBytes appends.
func (h *RequestHeader) String() string { return string(h.Header()) }

// Write writes to w the bytes that AppendBytes appends. Write does not flush w.
func (h *RequestHeader) Write(w *bufio.Writer) error {
	if h.fits(w) {
		_, err := w.Write(h.AppendBytes(w.AvailableBuffer()))
		return err
	}
	_, err := w.Write(h.Header())
	return err
}

// WriteTo writes to w the bytes that AppendBytes appends.
func (h *RequestHeader) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(h.Header())
	return int64(n), err
}

// AppendBytes appends the status line and headers to dst as they are sent, followed by an empty line. The bytes
// include everything that was set or received, except trailers. If there is a body and no Content-Type is set,
// AppendBytes adds a Content-Type. AppendBytes omits headers that only a server can add, such as Date.
func (h *ResponseHeader) AppendBytes(dst []byte) []byte {
	o := h.asStored()
	return h.appendHead(dst, &o)
}

// Header returns the bytes that AppendBytes appends. The slice is valid until the header is changed, or until the next
// call to Header or TrailerHeader.
func (h *ResponseHeader) Header() []byte {
	h.scratch = h.AppendBytes(h.scratch[:0])
	return h.scratch
}

// String returns the text that AppendBytes appends.
func (h *ResponseHeader) String() string { return string(h.Header()) }

// Write writes to w the bytes that AppendBytes appends. Write does not flush w.
func (h *ResponseHeader) Write(w *bufio.Writer) error {
	if h.fits(w) {
		_, err := w.Write(h.AppendBytes(w.AvailableBuffer()))
		return err
	}
	_, err := w.Write(h.Header())
	return err
}

// WriteTo writes to w the bytes that AppendBytes appends.
func (h *ResponseHeader) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(h.Header())
	return int64(n), err
}

// h1Only has the fields that HTTP/2 does not have (RFC 9113 §8.2.2), and Content-Length, which is written anew.
var h1Only = [256]bool{
	field.Connection: true, field.ProxyConnection: true, field.KeepAlive: true, field.TransferEncoding: true,
	field.Upgrade: true, field.HTTP2Settings: true, field.TE: true, field.ContentLength: true,
}

// appendH2Field appends the field at index i of l, unless HTTP/2 does not have it.
func appendH2Field(e *hpack.Encoder, dst []byte, l *field.List, i int) []byte {
	id := l.ID(i)
	if h1Only[id] {
		return dst
	}
	name, value := l.At(i)
	return hpack.Append(e, dst, id, name, value)
}
