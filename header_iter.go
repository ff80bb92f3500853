package gallop

import (
	"iter"
	"sync"

	"github.com/gallop-http/gallop/internal/ascii"
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

// Programs look up header names in maps, so loops show one spelling, the one of AppendNormalizedHeaderKey,
// regardless of the case in which a name arrived. Names of known headers come from a table. All other names
// that arrived in another case are converted into memory of the header. The received bytes stay unchanged for
// RawHeaders and for forwarding.

// shownNames stores the converted names that loops show. It only grows until it is reset, so views of it stay
// valid, and several goroutines may loop at once.
type shownNames struct {
	mu   sync.Mutex
	text []byte // names, each followed by a newline
	next int    // offset in text where the next name is likely to be
}

func (s *shownNames) reset() { s.text, s.next = emptied(s.text), 0 }

// shown returns the spelling in which loops show the name of a field in l with this id.
func (h *header) shown(l *field.List, id field.ID, name []byte) []byte {
	switch {
	case h.flags&namesAsGiven != 0:
		return name
	case id != field.Unknown:
		return id.Canonical()
	case isNormalizedHeaderKey(name):
		return name
	}
	return h.names.of(l, name)
}

// of returns the spelling in which loops show name. The first call converts all names of l at once, with a
// single allocation.
func (s *shownNames) of(l *field.List, name []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.text) == 0 {
		s.addAll(l, len(name)+1)
	}
	if at := s.find(name); at >= 0 {
		s.next = at + len(name) + 1
		return s.text[at : at+len(name) : at+len(name)]
	}
	at := len(s.text)
	s.add(name)
	s.next = len(s.text)
	return s.text[at : at+len(name) : at+len(name)]
}

func (s *shownNames) addAll(l *field.List, size int) {
	for i := range l.Len() {
		if name, _ := l.At(i); isConverted(l.ID(i), name) {
			size += len(name) + 1
		}
	}
	if cap(s.text) < size {
		s.text = make([]byte, 0, size)
	}
	for i := range l.Len() {
		if name, _ := l.At(i); isConverted(l.ID(i), name) {
			s.add(name)
		}
	}
}

// isConverted reports whether loops show the name in another spelling that is not in the table of known names.
func isConverted(id field.ID, name []byte) bool {
	return id == field.Unknown && !isNormalizedHeaderKey(name)
}

func (s *shownNames) add(name []byte) {
	s.text = append(AppendNormalizedHeaderKeyBytes(s.text, name), '\n')
}

// find returns the offset of name, or -1. Loops ask for names in order, so it is usually the next one.
func (s *shownNames) find(name []byte) int {
	if s.isAt(s.next, name) {
		return s.next
	}
	for at := 0; at < len(s.text); {
		if s.isAt(at, name) {
			return at
		}
		line, _ := cutByte(s.text[at:], '\n')
		at += len(line) + 1
	}
	return -1
}

func (s *shownNames) isAt(at int, name []byte) bool {
	end := at + len(name)
	return end < len(s.text) && s.text[end] == '\n' && ascii.EqualFold(s.text[at:end], name)
}
