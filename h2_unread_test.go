package gallop

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Bytes come out as they came in, and the buffer stays within a few times of what it holds.
func TestUnreadBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var u unreadBytes
	var want []byte
	next, most := byte(0), 0
	for range 20_000 {
		if rng.IntN(2) == 0 {
			p := make([]byte, rng.IntN(3000))
			for i := range p {
				p[i], next = next, next+1
			}
			u.add(p)
			want = append(want, p...)
		} else {
			n := rng.IntN(min(len(want), 4000) + 1)
			u.drop(n)
			want = want[n:]
		}
		if u.len() != len(want) || !bytes.Equal(u.unread(), want) {
			t.Fatalf("%d bytes, want %d", u.len(), len(want))
		}
		if most = max(most, len(want)); cap(u.buf) > 4*(most+3000) {
			t.Fatalf("a buffer of %d bytes for %d at most", cap(u.buf), most)
		}
	}
	if got := u.take(); !bytes.Equal(got, want) || u.buf != nil {
		t.Errorf("took %d bytes, want %d", len(got), len(want))
	}
}

// A buffer gets as much room as the last one needed at its end, so bytes that arrive in bursts are not moved.
func TestUnreadBytesKeepTheirRoom(t *testing.T) {
	var u unreadBytes
	burst := func(n int) (moves int) {
		var at *byte
		for range n {
			if u.add(make([]byte, 1<<10)); at != nil && &u.buf[0] != at {
				moves++
			}
			at = &u.buf[0]
		}
		u.drop(u.len())
		return moves
	}
	if burst(100) == 0 {
		t.Error("the first buffer has room for everything")
	}
	if n := burst(100); n > 0 {
		t.Errorf("%d moves in a burst of the same size", n)
	}
	burst(1)
	if u.add([]byte("x")); cap(u.buf) > 1<<10 {
		t.Errorf("a buffer of %d bytes after a small burst", cap(u.buf))
	}
	if u.take(); u.last != 0 {
		t.Error("the next body gets a large buffer")
	}
}
