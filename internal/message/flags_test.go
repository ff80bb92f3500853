package message

import (
	"testing"

	"github.com/gallop-http/gallop/internal/field"
)

func TestNoteFlags(t *testing.T) {
	var h Head
	h.Flags = LongConnection | ConnectionClose
	for _, f := range [][2]string{
		{"Connection", "Upgrade"}, {"X", "close"}, {"Connection", "a, keep-alive"}, {"Expect", "100-Continue"},
	} {
		field.Add(&h.Fields, field.Lookup(f[0]), f[0], f[1])
	}
	h.NoteFlags()
	if want := LongConnection | ConnectionUpgrade | ConnectionKeepAlive | ExpectContinue; h.Flags != want {
		t.Errorf("%b, want %b", h.Flags, want)
	}
}
