package message

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// NoteFlags sets Flags again from the fields Connection and Expect. Call it after changing these fields.
func (h *Head) NoteFlags() {
	h.Flags &= LongConnection
	for i := range h.Fields.Len() {
		switch h.Fields.ID(i) {
		case field.Connection:
			h.NoteConnection(h.Fields.Value(i))
		case field.Expect:
			h.NoteExpect(h.Fields.Value(i))
		}
	}
}

// NoteExpect adds the meaning of an Expect line to Flags. Expect is a list (RFC 9110 §10.1.1), so several lines add up.
func (h *Head) NoteExpect(value []byte) {
	for len(value) > 0 {
		var member []byte
		member, value = ascii.Cut(value, ',')
		if member = ascii.TrimOWS(member); ascii.EqualFold(member, "100-continue") {
			h.Flags |= ExpectContinue
		} else if len(member) > 0 {
			h.Flags |= ExpectOther
		}
	}
}

// MaxMethod is how many bytes the longest method has that servers read. The longest registered method has 17.
const MaxMethod = 64

// NoteLength takes the value of a Content-Length line. valid reports whether the value is a number. single reports whether no
// such line came before. A repeated one is refused even if it is equal, as RFC 9110 §8.6 permits.
func (h *Head) NoteLength(value []byte) (valid, single bool) {
	n, ok := ascii.ParseUint(value)
	if !ok || h.Length >= 0 {
		return ok, false
	}
	h.Length = int64(n)
	return true, true
}

// NoteConnection adds the meaning of a Connection line to Flags (RFC 9110 §7.6.1).
func (h *Head) NoteConnection(value []byte) {
	if string(value) == "keep-alive" {
		h.Flags |= ConnectionKeepAlive
		return
	}
	for len(value) > 0 {
		var member []byte
		member, value = ascii.Cut(value, ',')
		switch member = ascii.TrimOWS(member); {
		case ascii.EqualFold(member, "close"):
			h.Flags |= ConnectionClose
		case ascii.EqualFold(member, "keep-alive"):
			h.Flags |= ConnectionKeepAlive
		case ascii.EqualFold(member, "upgrade"):
			h.Flags |= ConnectionUpgrade
		}
	}
}
