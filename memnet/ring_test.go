package memnet

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// The ring is a queue: it behaves as a bytes.Buffer with a bound.
func TestRingIsAQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var q ring
	var model bytes.Buffer
	next := byte(0)
	scratch := make([]byte, 2*BufferSize)
	for step := range 20000 {
		limit := []int{1, 10, 600, 5000, 2 * BufferSize}[r.IntN(5)]
		size := r.IntN(limit + 1)
		if r.IntN(2) == 0 {
			for i := range size {
				scratch[i] = next + byte(i)
			}
			n := q.write(scratch[:size])
			if want := min(size, BufferSize-model.Len()); n != want {
				t.Fatalf("step %d: wrote %d of %d onto %d, want %d", step, n, size, model.Len(), want)
			}
			model.Write(scratch[:n])
			next += byte(n)
		} else {
			n := q.read(scratch[:size])
			if want := model.Next(size); !bytes.Equal(scratch[:n], want) {
				t.Fatalf("step %d: read %d bytes, want %d", step, n, len(want))
			}
		}
		if q.n != model.Len() || len(q.buf) > BufferSize || q.n > len(q.buf) || q.n == 0 && q.start != 0 {
			t.Fatalf("step %d: n %d, start %d, len %d; want n %d", step, q.n, q.start, len(q.buf), model.Len())
		}
	}
}

func TestRingGrowsWithWhatArrives(t *testing.T) {
	var q ring
	for _, tc := range []struct{ write, want int }{{0, 0}, {1, 512}, {511, 512}, {1, 1024}, {3000, 4096}, {BufferSize, BufferSize}} {
		q.write(make([]byte, tc.write))
		if len(q.buf) != tc.want {
			t.Errorf("after %d more bytes: a buffer of %d, want %d", tc.write, len(q.buf), tc.want)
		}
	}
}
