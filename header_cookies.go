package gallop

import (
	"bytes"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/cookie"
	"github.com/gallop-http/gallop/internal/field"
)

// Cookie returns the value of the first cookie with this name, or nil. Cookie names are case sensitive. Cookie ignores
// cookies whose value contains a backslash or a quote (RFC 6265 §4.1.1). Quotes around the whole value are allowed.
func (h *RequestHeader) Cookie(key string) []byte { return h.CookieBytes(UnsafeBytes(key)) }

// CookieBytes does the same as [RequestHeader.Cookie], but takes a key of type []byte.
func (h *RequestHeader) CookieBytes(key []byte) []byte {
	l := &h.head.Fields
	for i := l.FindID(field.Cookie); i >= 0; i = field.Next(l, i, field.Cookie, "") {
		if value, ok := cookie.Find(l.Value(i), key); ok {
			return value
		}
	}
	return nil
}

// SetCookie appends a cookie and removes any other cookies with the same name. SetCookie does nothing if the name is
// not a token, or if Cookie.SetValue refuses the value.
func (h *RequestHeader) SetCookie(key, value string) {
	h.SetCookieBytesKV(UnsafeBytes(key), UnsafeBytes(value))
}

// SetCookieBytesKV does the same as [RequestHeader.SetCookie], but takes a key and a value of type []byte.
func (h *RequestHeader) SetCookieBytesKV(key, value []byte) {
	old := len(h.cookiesWithout(key))
	h.scratch = cookie.Append(h.scratch, key, value)
	if len(h.scratch) > old {
		h.setKnown(field.Cookie, h.scratch)
	}
}

// DelCookie removes all cookies with this name.
func (h *RequestHeader) DelCookie(key string) { h.DelCookieBytes(UnsafeBytes(key)) }

// DelCookieBytes does the same as [RequestHeader.DelCookie], but takes a key of type []byte.
func (h *RequestHeader) DelCookieBytes(key []byte) {
	if h.CookieBytes(key) == nil {
		return
	}
	if rest := h.cookiesWithout(key); len(rest) > 0 {
		h.setKnown(field.Cookie, rest)
	} else {
		h.DelAllCookies()
	}
}

// DelAllCookies removes all cookies.
func (h *RequestHeader) DelAllCookies() { field.Del(&h.head.Fields, field.Cookie, "Cookie") }

// cookiesWithout puts all cookies except those with that name into h.scratch, and returns it.
func (h *RequestHeader) cookiesWithout(name []byte) []byte {
	h.scratch = cookie.Delete(append(h.scratch[:0], h.head.Fields.PeekID(field.Cookie)...), name)
	return h.scratch
}

// addCookies appends the cookies in value to the Cookie header, except those that cookie.Next skips.
func (h *header) addCookies(value []byte) bool {
	h.scratch = cookie.AppendPairs(append(h.scratch[:0], h.head.Fields.PeekID(field.Cookie)...), value)
	return h.setKnown(field.Cookie, h.scratch)
}

// joinCookies appends value unchanged to the Cookie header. A client returns the cookies that it received, even those
// that a server must not send (RFC 6265 §5.4).
func (h *header) joinCookies(value []byte) {
	h.scratch = append(h.scratch[:0], h.head.Fields.PeekID(field.Cookie)...)
	if len(h.scratch) > 0 {
		h.scratch = append(h.scratch, "; "...)
	}
	h.scratch = append(h.scratch, value...)
	h.setKnown(field.Cookie, h.scratch)
}

// peekSetCookies returns the values of all Set-Cookie headers, joined with "; ".
func (h *ResponseHeader) peekSetCookies() []byte {
	l := &h.head.Fields
	first := l.FindID(field.SetCookie)
	if first < 0 {
		return nil
	}
	all := l.Value(first)
	for i := field.Next(l, first, field.SetCookie, ""); i >= 0; i = field.Next(l, i, field.SetCookie, "") {
		all = append(append(all, "; "...), l.Value(i)...) // a view has no room, so this allocates
	}
	return all
}

// findSetCookie returns the index of the first field from i on that sets the cookie with this name, or -1.
func (h *ResponseHeader) findSetCookie(i int, name []byte) int {
	l := &h.head.Fields
	for i = field.Next(l, i-1, field.SetCookie, ""); i >= 0; i = field.Next(l, i, field.SetCookie, "") {
		if bytes.Equal(cookie.Name(l.Value(i)), name) {
			return i
		}
	}
	return -1
}

// Cookie finds the Set-Cookie header for the cookie with the name cookie.Key(), and parses the header's value into
// cookie. The result is true if the header exists and its value is valid (see Cookie.ParseBytes).
func (h *ResponseHeader) Cookie(cookie *Cookie) bool {
	i := h.findSetCookie(0, cookie.Key())
	return i >= 0 && cookie.ParseBytes(h.head.Fields.Value(i)) == nil
}

// PeekCookie returns the value of the first Set-Cookie header for the cookie with this name, including its
// attributes. If there is no such header, the result is nil.
func (h *ResponseHeader) PeekCookie(key string) []byte {
	if i := h.findSetCookie(0, UnsafeBytes(key)); i >= 0 {
		return h.head.Fields.Value(i)
	}
	return nil
}

// SetCookie adds a Set-Cookie header for cookie. An existing Set-Cookie header for a cookie with the same name is
// replaced. If cookie has no key, SetCookie does nothing. You may reuse cookie afterwards.
func (h *ResponseHeader) SetCookie(cookie *Cookie) {
	value := cookie.Cookie()
	if len(value) == 0 || ascii.IndexControl(value) != len(value) || !h.room(len(value)) {
		return
	}
	l := &h.head.Fields
	first := h.findSetCookie(0, cookie.Key())
	if first < 0 {
		field.Add(l, field.SetCookie, "Set-Cookie", value)
		return
	}
	field.SetValueAt(l, first, value)
	for i := h.findSetCookie(first+1, cookie.Key()); i >= 0; i = h.findSetCookie(i, cookie.Key()) {
		l.DelAt(i)
	}
}

// DelCookie removes the Set-Cookie headers for the cookie with this name. To delete the cookie in the client, use
// DelClientCookie.
func (h *ResponseHeader) DelCookie(key string) { h.DelCookieBytes(UnsafeBytes(key)) }

// DelCookieBytes does the same as [ResponseHeader.DelCookie], but takes a key of type []byte.
func (h *ResponseHeader) DelCookieBytes(key []byte) {
	for i := h.findSetCookie(0, key); i >= 0; i = h.findSetCookie(i, key) {
		h.head.Fields.DelAt(i)
	}
}

// DelAllCookies removes all Set-Cookie headers.
func (h *ResponseHeader) DelAllCookies() { field.Del(&h.head.Fields, field.SetCookie, "Set-Cookie") }

// DelClientCookie makes the client delete a cookie that has neither a domain nor a path. To delete a cookie with a
// domain or a path, set a cookie with the same name, domain and path. The new cookie's expiry time must be
// CookieExpireDelete.
func (h *ResponseHeader) DelClientCookie(key string) { h.DelClientCookieBytes(UnsafeBytes(key)) }

// DelClientCookieBytes does the same as [ResponseHeader.DelClientCookie], but takes a key of type []byte.
func (h *ResponseHeader) DelClientCookieBytes(key []byte) {
	h.DelCookieBytes(key)
	c := AcquireCookie()
	defer ReleaseCookie(c)
	c.setKey(key)
	c.SetExpire(expiredLongAgo)
	h.SetCookie(c)
}
