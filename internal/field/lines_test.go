package field

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAppendLinesSkipsFields compares lists that are stored as lines and lists that are not with lines made one by one.
func TestAppendLinesSkipsFields(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		var l List
		skip := IDs(r.Uint64()) & IDs(r.Uint64())
		var want strings.Builder
		want.WriteString("start\r\n")
		if r.IntN(2) == 0 {
			Store(&l, "first, so that the fields are not stored as lines")
		}
		for range r.IntN(12) {
			id := ID(r.IntN(int(numIDs)))
			name := id.String()
			if id == Unknown {
				name = "X-Other"
			}
			Add(&l, id, name, "value")
			if id >= 64 || skip&(1<<id) == 0 {
				want.WriteString(name + ": value\r\n")
			}
		}
		if got := l.AppendLines([]byte("start\r\n"), skip); string(got) != want.String() {
			t.Fatalf("without %b of %s:\n%q, want\n%q", skip, dump(&l), got, want.String())
		}
	}
}
