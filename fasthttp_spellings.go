package gallop

import (
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/field"
)

// The spellings of this file exist for programs that were written against fasthttp. New programs do not need them:
// they can call the method without Bytes, loop with an iterator, or use time.NewTimer.

// VisitAll calls f for each argument. New code should loop over [Args.All] instead.
func (a *Args) VisitAll(f func(key, value []byte)) {
	for key, value := range a.All() {
		f(key, value)
	}
}

// AddBytesK does the same as [Args.Add], but takes a key of type []byte.
func (a *Args) AddBytesK(key []byte, value string) { a.add(key, UnsafeBytes(value), false) }

// AddBytesV does the same as [Args.Add], but takes a value of type []byte.
func (a *Args) AddBytesV(key string, value []byte) { a.add(UnsafeBytes(key), value, false) }

// AddBytesKV does the same as [Args.Add], but takes a key and a value of type []byte.
func (a *Args) AddBytesKV(key, value []byte) { a.add(key, value, false) }

// AddBytesKNoValue does the same as [Args.AddNoValue], but takes a key of type []byte.
func (a *Args) AddBytesKNoValue(key []byte) { a.add(key, nil, true) }

// SetBytesK does the same as [Args.Set], but takes a key of type []byte.
func (a *Args) SetBytesK(key []byte, value string) { a.set(key, UnsafeBytes(value), false) }

// SetBytesV does the same as [Args.Set], but takes a value of type []byte.
func (a *Args) SetBytesV(key string, value []byte) { a.set(UnsafeBytes(key), value, false) }

// SetBytesKV does the same as [Args.Set], but takes a key and a value of type []byte.
func (a *Args) SetBytesKV(key, value []byte) { a.set(key, value, false) }

// SetBytesKNoValue does the same as [Args.SetNoValue], but takes a key of type []byte.
func (a *Args) SetBytesKNoValue(key []byte) { a.set(key, nil, true) }

// SetUintBytes does the same as [Args.SetUint], but takes a key of type []byte.
func (a *Args) SetUintBytes(key []byte, value int) { a.SetUint(UnsafeString(key), value) }

// DelBytes does the same as [Args.Del], but takes a key of type []byte.
func (a *Args) DelBytes(key []byte) { a.del(key) }

// HasBytes does the same as [Args.Has], but takes a key of type []byte.
func (a *Args) HasBytes(key []byte) bool { return a.index(key) >= 0 }

// PeekBytes does the same as [Args.Peek], but takes a key of type []byte.
func (a *Args) PeekBytes(key []byte) []byte { return a.peek(key) }

// PeekMultiBytes does the same as [Args.PeekMulti], but takes a key of type []byte.
func (a *Args) PeekMultiBytes(key []byte) [][]byte { return a.peekMulti(key) }

// SetSchemeBytes does the same as [URI.SetScheme], but takes a []byte.
func (u *URI) SetSchemeBytes(scheme []byte) { u.setScheme(scheme) }

// SetHostBytes does the same as [URI.SetHost], but takes a []byte.
func (u *URI) SetHostBytes(host []byte) { u.setHost(host) }

// SetUsernameBytes does the same as [URI.SetUsername], but takes a []byte.
func (u *URI) SetUsernameBytes(username []byte) { u.username = append(u.username[:0], username...) }

// SetPasswordBytes does the same as [URI.SetPassword], but takes a []byte.
func (u *URI) SetPasswordBytes(password []byte) { u.password = append(u.password[:0], password...) }

// SetPathBytes does the same as [URI.SetPath], but takes a []byte.
func (u *URI) SetPathBytes(path []byte) { u.setPathOriginal(path) }

// SetQueryStringBytes does the same as [URI.SetQueryString], but takes a []byte.
func (u *URI) SetQueryStringBytes(queryString []byte) { u.setQueryString(queryString) }

// SetHashBytes does the same as [URI.SetHash], but takes a []byte.
func (u *URI) SetHashBytes(hash []byte) { u.hash = append(u.hash[:0], hash...) }

// SetKeyBytes does the same as [Cookie.SetKey], but takes a []byte.
func (c *Cookie) SetKeyBytes(key []byte) { c.setKey(key) }

// SetValueBytes does the same as [Cookie.SetValue], but takes a []byte.
func (c *Cookie) SetValueBytes(value []byte) { c.setValue(value) }

// SetDomainBytes does the same as [Cookie.SetDomain], but takes a []byte.
func (c *Cookie) SetDomainBytes(domain []byte) { c.setDomain(domain) }

// SetPathBytes does the same as [Cookie.SetPath], but takes a []byte.
func (c *Cookie) SetPathBytes(path []byte) { c.setPath(path) }

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

// SetCanonical sets a header without normalizing its name. See [RequestHeader.Set].
func (h *RequestHeader) SetCanonical(key, value []byte) {
	normalizes := h.DisableNormalizing()
	h.set(key, value)
	h.changeFlag(namesAsGiven, !normalizes)
}

// SetCanonical sets a header without normalizing its name. See [ResponseHeader.Set].
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

// VisitAllTrailer calls f with the name of each trailer. New code should loop over [RequestHeader.Trailers] instead.
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

// VisitAllCookie calls f for each cookie that the response sets. The function f gets the cookie's name and the whole
// value of its Set-Cookie header. New code should loop over [ResponseHeader.Cookies] instead.
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

// SetRequestURIBytes does the same as [Request.SetRequestURI], but takes a []byte.
func (req *Request) SetRequestURIBytes(requestURI []byte) {
	req.SetRequestURI(UnsafeString(requestURI))
}

// SetHostBytes does the same as [Request.SetHost], but takes a []byte.
func (req *Request) SetHostBytes(host []byte) { req.URI().SetHostBytes(host) }

// SetUserValueBytes does the same as [Request.SetUserValue], but takes a key of type []byte.
func (req *Request) SetUserValueBytes(key []byte, value any) { req.values.setText(key, value) }

// UserValueBytes does the same as [Request.UserValue], but takes a key of type []byte.
func (req *Request) UserValueBytes(key []byte) any { return req.values.getText(key) }

// RemoveUserValueBytes does the same as [Request.RemoveUserValue], but takes a key of type []byte.
func (req *Request) RemoveUserValueBytes(key []byte) { req.values.remove(req.values.indexText(key)) }

// VisitUserValues calls visitor for each user value whose key is a string.
func (req *Request) VisitUserValues(visitor func(key []byte, value any)) {
	req.values.visitText(visitor)
}

// VisitUserValuesAll calls visitor for each user value, in the order in which the keys were first set.
func (req *Request) VisitUserValuesAll(visitor func(key, value any)) { req.values.visit(visitor) }

// SetContentTypeBytes does the same as [RequestCtx.SetContentType], but takes a []byte.
func (ctx *RequestCtx) SetContentTypeBytes(contentType []byte) {
	ctx.Response.Header.SetContentTypeBytes(contentType)
}

// SetUserValueBytes does the same as [RequestCtx.SetUserValue], but takes a key of type []byte.
func (ctx *RequestCtx) SetUserValueBytes(key []byte, value any) {
	ctx.Request.SetUserValueBytes(key, value)
}

// UserValueBytes does the same as [RequestCtx.UserValue], but takes a key of type []byte.
func (ctx *RequestCtx) UserValueBytes(key []byte) any { return ctx.Request.UserValueBytes(key) }

// RemoveUserValueBytes does the same as [RequestCtx.RemoveUserValue], but takes a key of type []byte.
func (ctx *RequestCtx) RemoveUserValueBytes(key []byte) { ctx.Request.RemoveUserValueBytes(key) }

// VisitUserValues calls visitor for each user value whose key is a string.
func (ctx *RequestCtx) VisitUserValues(visitor func([]byte, any)) {
	ctx.Request.VisitUserValues(visitor)
}

// VisitUserValuesAll calls visitor for each user value.
func (ctx *RequestCtx) VisitUserValuesAll(visitor func(any, any)) {
	ctx.Request.VisitUserValuesAll(visitor)
}

var timers sync.Pool // of *time.Timer

// AcquireTimer returns a timer from a pool. The timer fires after timeout. Return the timer to the pool with
// ReleaseTimer.
func AcquireTimer(timeout time.Duration) *time.Timer {
	if t, ok := timers.Get().(*time.Timer); ok {
		t.Reset(timeout)
		return t
	}
	return time.NewTimer(timeout)
}

// ReleaseTimer stops t and returns it to the pool. You may call ReleaseTimer before or after t has fired. Do not use
// t afterwards.
func ReleaseTimer(t *time.Timer) {
	t.Stop() // nothing is received from its channel after this
	timers.Put(t)
}
