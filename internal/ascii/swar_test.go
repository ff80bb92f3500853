package ascii

import (
	"bytes"
	"testing"
)

func TestToLower(t *testing.T) {
	for c := range 256 {
		for at := range 19 {
			b := []byte("AZaz@[`{09-.\x80\xc1\xda\x00\x7fMm")
			b[at] = byte(c)
			want := make([]byte, len(b))
			for i := range b {
				want[i] = Lower(b[i])
			}
			if got := ToLower(bytes.Clone(b)); !bytes.Equal(got, want) {
				t.Fatalf("%q: %q, want %q", b, got, want)
			}
		}
	}
}
