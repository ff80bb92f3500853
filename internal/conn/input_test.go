package conn

import (
	"testing"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// The buffer becomes larger only if a read has filled it and all of it was used.
func TestWiden(t *testing.T) {
	for _, tt := range []struct {
		name   string
		length int // of 4,096 bytes of room
		used   int
		held   bool
		want   int
	}{
		{"full and used", 4096, 4096, false, wideInput},
		{"not full", 4095, 4095, false, 4096},
		{"empty", 0, 0, false, 4096},
		{"not used", 4096, 4095, false, 4096},
		{"held", 4096, 4096, true, 4096},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{buf: bufpool.Get(4096)[:tt.length], R: tt.used, HeadAt: tt.used, Held: tt.held}
			if in.Widen(); cap(in.buf) != tt.want {
				t.Errorf("room for %d bytes, want %d", cap(in.buf), tt.want)
			}
			if got := tt.length - tt.used; len(in.Unread()) != got {
				t.Errorf("%d unread bytes, want %d", len(in.Unread()), got)
			}
		})
	}
	in := Input{buf: bufpool.Get(wideInput)[:wideInput], R: wideInput, HeadAt: wideInput}
	if in.Widen(); cap(in.buf) != wideInput {
		t.Errorf("a wide buffer has grown to %d bytes", cap(in.buf))
	}
	var none Input
	if none.Widen(); none.buf != nil {
		t.Error("a buffer for a connection that has none")
	}
}
