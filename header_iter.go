package gallop

import (
	"iter"

	"github.com/gallop-http/gallop/internal/cookie"
	"github.com/gallop-http/gallop/internal/field"
)

// All returns an iterator over the names and values of the headers, in order. The iterator yields names in the spelling
// of AppendNormalizedHeaderKey and net/textproto, such as "Etag" and "X-Request-Id". After DisableNormalizing, the
// iterator yields names as they were received.
//
// Names and values point into the header's buffer. Do not write to names or values. Do not change the header in the
// loop. Several goroutines may loop over one header at once.
func (h *header) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) { h.eachField(&h.head.Fields, yield) }
}

// AllInOrder does the same as All.
//
// Deprecated: use All, which yields the headers in the order in which they are sent.
func (h *RequestHeader) AllInOrder() iter.Seq2[[]byte, []byte] { return h.All() }

func (h *header) eachField(l *field.List, yield func(name, value []byte) bool) {
	for i := range l.Len() {
		name, value := l.At(i)
		if !yield(h.shown(l, l.ID(i), name), value) {
			return
		}
	}
}

// Cookies returns an iterator over the names and values of the request's cookies. Names and values point into the
// header's buffer. Do not change the header in the loop.
func (h *RequestHeader) Cookies() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) { eachCookie(&h.head.Fields, yield) }
}

func eachCookie(l *field.List, yield func(name, value []byte) bool) {
	for i := l.FindID(field.Cookie); i >= 0; i = field.Next(l, i, field.Cookie, "") {
		for rest := l.Value(i); ; {
			var name, value []byte
			var ok bool
			if name, value, rest, ok = cookie.Next(rest); !ok {
				break
			}
			if !yield(name, value) {
				return
			}
		}
	}
}

// Cookies returns an iterator over the cookies that the response sets. For each cookie, the iterator yields the name
// and the whole Set-Cookie value, which Cookie.ParseBytes can parse. Names and values point into the header's buffer.
// Do not change the header in the loop.
func (h *ResponseHeader) Cookies() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) { eachSetCookie(&h.head.Fields, yield) }
}

func eachSetCookie(l *field.List, yield func(name, value []byte) bool) {
	for i := l.FindID(field.SetCookie); i >= 0; i = field.Next(l, i, field.SetCookie, "") {
		if value := l.Value(i); !yield(cookie.Name(value), value) {
			return
		}
	}
}
