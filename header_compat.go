package gallop

import (
	"github.com/gallop-http/gallop/internal/field"
)

// The methods of this file do the same as other methods, but take bytes or have another name. They exist for
// programs that come from fasthttp.

// PeekBytes does the same as [RequestHeader.Peek], but takes a key of type []byte.
func (h *header) PeekBytes(key []byte) []byte { return h.peek(key) }

// PeekCanonical does the same as [RequestHeader.Peek], but takes a key of type []byte.
func (h *header) PeekCanonical(key []byte) []byte { return h.peek(key) }

// PeekBytes does the same as [ResponseHeader.Peek], but takes a key of type []byte.
func (h *ResponseHeader) PeekBytes(key []byte) []byte { return h.peek(key) }

// PeekCanonical does the same as [ResponseHeader.Peek], but takes a key of type []byte.
func (h *ResponseHeader) PeekCanonical(key []byte) []byte { return h.peek(key) }

// SetBytesK does the same as [RequestHeader.Set], but takes a key of type []byte.
func (h *RequestHeader) SetBytesK(key []byte, value string) { h.set(key, UnsafeBytes(value)) }

// SetBytesK does the same as [ResponseHeader.Set], but takes a key of type []byte.
func (h *ResponseHeader) SetBytesK(key []byte, value string) { h.set(key, UnsafeBytes(value)) }

// SetBytesV does the same as [RequestHeader.Set], but takes a value of type []byte.
func (h *RequestHeader) SetBytesV(key string, value []byte) { h.set(UnsafeBytes(key), value) }

// SetBytesV does the same as [ResponseHeader.Set], but takes a value of type []byte.
func (h *ResponseHeader) SetBytesV(key string, value []byte) { h.set(UnsafeBytes(key), value) }

// SetBytesKV does the same as [RequestHeader.Set], but takes a key and a value of type []byte.
func (h *RequestHeader) SetBytesKV(key, value []byte) { h.set(key, value) }

// SetBytesKV does the same as [ResponseHeader.Set], but takes a key and a value of type []byte.
func (h *ResponseHeader) SetBytesKV(key, value []byte) { h.set(key, value) }

// SetCanonical sets a header whose name keeps the given spelling. See [RequestHeader.Set].
func (h *RequestHeader) SetCanonical(key, value []byte) {
	normalizes := h.DisableNormalizing()
	h.set(key, value)
	h.changeFlag(namesAsGiven, !normalizes)
}

// SetCanonical sets a header whose name keeps the given spelling. See [ResponseHeader.Set].
func (h *ResponseHeader) SetCanonical(key, value []byte) {
	normalizes := h.DisableNormalizing()
	h.set(key, value)
	h.changeFlag(namesAsGiven, !normalizes)
}

// AddBytesK does the same as [RequestHeader.Add], but takes a key of type []byte.
func (h *header) AddBytesK(key []byte, value string) { h.add(key, UnsafeBytes(value)) }

// AddBytesV does the same as [RequestHeader.Add], but takes a value of type []byte.
func (h *header) AddBytesV(key string, value []byte) { h.add(UnsafeBytes(key), value) }

// AddBytesKV does the same as [RequestHeader.Add], but takes a key and a value of type []byte.
func (h *header) AddBytesKV(key, value []byte) { h.add(key, value) }

// DelBytes does the same as [RequestHeader.Del], but takes a key of type []byte.
func (h *header) DelBytes(key []byte) { h.del(key) }

// SetContentTypeBytes does the same as [RequestHeader.SetContentType], but takes a []byte.
func (h *header) SetContentTypeBytes(contentType []byte) { h.setKnown(field.ContentType, contentType) }

// SetContentEncodingBytes does the same as [RequestHeader.SetContentEncoding], but takes a []byte.
func (h *header) SetContentEncodingBytes(contentEncoding []byte) {
	h.setKnown(field.ContentEncoding, contentEncoding)
}

// SetTrailerBytes does the same as [RequestHeader.SetTrailer], but takes a []byte.
func (h *header) SetTrailerBytes(trailer []byte) error { return h.announce(trailer, false) }

// AddTrailerBytes does the same as [RequestHeader.AddTrailer], but takes a []byte.
func (h *header) AddTrailerBytes(trailer []byte) error { return h.announce(trailer, true) }

// VisitAll calls f for each header, in order. New code should loop over [RequestHeader.All] instead.
func (h *header) VisitAll(f func(key, value []byte)) {
	for name, value := range h.All() {
		f(name, value)
	}
}

// VisitAllTrailer calls f with each name that Trailers yields.
func (h *header) VisitAllTrailer(f func(value []byte)) {
	for name := range h.Trailers() {
		f(name)
	}
}

// VisitAllInOrder does the same as VisitAll.
//
// Deprecated: use All.
func (h *RequestHeader) VisitAllInOrder(f func(key, value []byte)) { h.VisitAll(f) }

// VisitAllCookie calls f for each cookie of the request. New code should loop over [RequestHeader.Cookies] instead.
func (h *RequestHeader) VisitAllCookie(f func(key, value []byte)) {
	for name, value := range h.Cookies() {
		f(name, value)
	}
}

// VisitAllCookie calls f for each cookie that the response sets, with its name and the whole Set-Cookie value.
// New code should loop over [ResponseHeader.Cookies] instead.
func (h *ResponseHeader) VisitAllCookie(f func(key, value []byte)) {
	for name, value := range h.Cookies() {
		f(name, value)
	}
}

// SetCookieBytesK does the same as [RequestHeader.SetCookie], but takes a key of type []byte.
func (h *RequestHeader) SetCookieBytesK(key []byte, value string) {
	h.SetCookieBytesKV(key, UnsafeBytes(value))
}

// SetHostBytes does the same as [RequestHeader.SetHost], but takes a []byte.
func (h *RequestHeader) SetHostBytes(host []byte) { h.setKnown(field.Host, host) }

// SetUserAgentBytes does the same as [RequestHeader.SetUserAgent], but takes a []byte.
func (h *RequestHeader) SetUserAgentBytes(userAgent []byte) { h.setKnown(field.UserAgent, userAgent) }

// SetRefererBytes does the same as [RequestHeader.SetReferer], but takes a []byte.
func (h *RequestHeader) SetRefererBytes(referer []byte) { h.setKnown(field.Referer, referer) }

// SetServerBytes does the same as [ResponseHeader.SetServer], but takes a []byte.
func (h *ResponseHeader) SetServerBytes(server []byte) { h.setKnown(field.Server, server) }
