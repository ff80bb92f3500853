package bufpool

import "testing"

func TestSlices(t *testing.T) {
	var s Slices[*int]
	for _, n := range []int{1, 2, 64, MaxLen, 0, 3, 100, 2 * MaxLen} {
		for range 3 {
			got := s.Get(n)
			if len(got) != n || cap(got) != n {
				t.Fatalf("Get(%d): len %d, cap %d", n, len(got), cap(got))
			}
			for i, p := range got {
				if p != nil {
					t.Fatalf("Get(%d): element %d is not zero", n, i)
				}
				got[i] = new(int)
			}
			s.Put(got)
		}
	}
	s.Put(nil)
}

// Only slices of the same length and type are returned again, and each of them to one caller.
func TestSlicesAreReused(t *testing.T) {
	if Poisons {
		t.Skip("the race detector makes pools forget")
	}
	var s Slices[uint16]
	reused := false
	for range 100 { // a goroutine that changes its processor does not find what it has put into the pool of the other one
		a := s.Get(8)
		s.Put(a)
		if b := s.Get(16); len(b) != 16 {
			t.Errorf("%d elements", len(b))
		}
		b, c := s.Get(8), s.Get(8)
		if &b[0] == &c[0] {
			t.Fatal("two callers have the same slice")
		}
		reused = reused || &b[0] == &a[0]
	}
	if !reused {
		t.Error("no slice was reused")
	}
	if n := testing.AllocsPerRun(100, func() { s.Put(s.Get(32)) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
