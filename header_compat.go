package gallop

import (
	"github.com/gallop-http/gallop/internal/field"
)

// The methods of this file are others under a second name, or for bytes. They are
// here for those who come from fasthttp; new code has no need for them.

// PeekBytes is Peek for bytes.
func (h *header) PeekBytes(key []byte) []byte { return h.peek(key) }

// PeekCanonical is Peek for bytes.
func (h *header) PeekCanonical(key []byte) []byte { return h.peek(key) }

// PeekBytes is Peek for bytes.
func (h *ResponseHeader) PeekBytes(key []byte) []byte { return h.peek(key) }

// PeekCanonical is Peek for bytes.
func (h *ResponseHeader) PeekCanonical(key []byte) []byte { return h.peek(key) }

// SetBytesK is Set for a key in bytes.
func (h *RequestHeader) SetBytesK(key []byte, value string) { h.set(key, UnsafeBytes(value)) }

// SetBytesK is Set for a key in bytes.
func (h *ResponseHeader) SetBytesK(key []byte, value string) { h.set(key, UnsafeBytes(value)) }

// SetBytesV is Set for a value in bytes.
func (h *RequestHeader) SetBytesV(key string, value []byte) { h.set(UnsafeBytes(key), value) }

// SetBytesV is Set for a value in bytes.
func (h *ResponseHeader) SetBytesV(key string, value []byte) { h.set(UnsafeBytes(key), value) }

// SetBytesKV is Set for bytes.
func (h *RequestHeader) SetBytesKV(key, value []byte) { h.set(key, value) }

// SetBytesKV is Set for bytes.
func (h *ResponseHeader) SetBytesKV(key, value []byte) { h.set(key, value) }

// SetCanonical is Set for bytes, with the name spelled as it is.
func (h *RequestHeader) SetCanonical(key, value []byte) {
	normalizes := h.DisableNormalizing()
	h.set(key, value)
	h.changeFlag(namesAsGiven, !normalizes)
}

// SetCanonical is Set for bytes, with the name spelled as it is.
func (h *ResponseHeader) SetCanonical(key, value []byte) {
	normalizes := h.DisableNormalizing()
	h.set(key, value)
	h.changeFlag(namesAsGiven, !normalizes)
}

// AddBytesK is Add for a key in bytes.
func (h *header) AddBytesK(key []byte, value string) { h.add(key, UnsafeBytes(value)) }

// AddBytesV is Add for a value in bytes.
func (h *header) AddBytesV(key string, value []byte) { h.add(UnsafeBytes(key), value) }

// AddBytesKV is Add for bytes.
func (h *header) AddBytesKV(key, value []byte) { h.add(key, value) }

// DelBytes is Del for bytes.
func (h *header) DelBytes(key []byte) { h.del(key) }

// SetContentTypeBytes is SetContentType for bytes.
func (h *header) SetContentTypeBytes(contentType []byte) { h.setKnown(field.ContentType, contentType) }

// SetContentEncodingBytes is SetContentEncoding for bytes.
func (h *header) SetContentEncodingBytes(contentEncoding []byte) {
	h.setKnown(field.ContentEncoding, contentEncoding)
}

// SetTrailerBytes is SetTrailer for bytes.
func (h *header) SetTrailerBytes(trailer []byte) error { return h.announce(trailer, false) }

// AddTrailerBytes is AddTrailer for bytes.
func (h *header) AddTrailerBytes(trailer []byte) error { return h.announce(trailer, true) }

// VisitAll calls f for each field, in order. All is the loop to write.
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

// VisitAllCookie calls f for each cookie that the request carries. Cookies is the
// loop to write.
func (h *RequestHeader) VisitAllCookie(f func(key, value []byte)) {
	for name, value := range h.Cookies() {
		f(name, value)
	}
}

// VisitAllCookie calls f for each cookie that the response sets, with its name and
// the whole value of Set-Cookie. Cookies is the loop to write.
func (h *ResponseHeader) VisitAllCookie(f func(key, value []byte)) {
	for name, value := range h.Cookies() {
		f(name, value)
	}
}

// SetCookieBytesK is SetCookie for a key in bytes.
func (h *RequestHeader) SetCookieBytesK(key []byte, value string) {
	h.SetCookieBytesKV(key, UnsafeBytes(value))
}

// SetHostBytes is SetHost for bytes.
func (h *RequestHeader) SetHostBytes(host []byte) { h.setKnown(field.Host, host) }

// SetUserAgentBytes is SetUserAgent for bytes.
func (h *RequestHeader) SetUserAgentBytes(userAgent []byte) { h.setKnown(field.UserAgent, userAgent) }

// SetRefererBytes is SetReferer for bytes.
func (h *RequestHeader) SetRefererBytes(referer []byte) { h.setKnown(field.Referer, referer) }

// SetServerBytes is SetServer for bytes.
func (h *ResponseHeader) SetServerBytes(server []byte) { h.setKnown(field.Server, server) }
