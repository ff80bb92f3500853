package gallop

import (
	"sync"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

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
