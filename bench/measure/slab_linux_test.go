package measure

import "testing"

// The kernel's caches take more than a megabyte and less than all memory.
func TestSlab(t *testing.T) {
	if n := Slab(); n < 1<<20 || n > 1<<44 {
		t.Errorf("%d bytes", n)
	}
}
