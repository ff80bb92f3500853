package field

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAppendLinesSkipsFields compares lists that are stored as lines and lists that are not with lines made one by one.
func TestAppendLinesSkipsFields(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		var l List
		some, other := IDs(r.Uint64()), IDs(r.Uint64())
		skip := some & other // about a quarter of the IDs
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

// TestAddFirstAgreesWithAdd adds values with every byte at every place, as Add does or not at all.
func TestAddFirstAgreesWithAdd(t *testing.T) {
	var l List
	for _, size := range []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 40} {
		for at := range max(size, 1) {
			for c := range 256 {
				value := bytes.Repeat([]byte{'v'}, size)
				if size > 0 {
					value[at] = byte(c)
				}
				id := 1 + ID(c)%(numIDs-1)
				usual := size > 0 && c >= ' ' && c <= '~' && (c != ' ' || at > 0 && at < size-1)
				compareAdd(t, &l, id, value, usual)
			}
		}
	}
}

// compareAdd fails unless AddFirst adds the field to l exactly if the value is usual, and does what Add does.
func compareAdd(t *testing.T, l *List, id ID, value []byte, usual bool) {
	t.Helper()
	var want List
	l.Reset()
	before := Host
	if id == Host {
		before = Vary
	}
	Add(&want, before, before.String(), "before")
	Add(l, before, before.String(), "before, in storage that has room afterwards: "+strings.Repeat("x", 200))
	l.Reset()
	Add(l, before, before.String(), "before")
	if usual {
		Add(&want, id, id.String(), value)
	}
	if got := l.AddFirst(id, value); got != usual {
		t.Fatalf("%s: %q: got %v, want %v", id, value, got, usual)
	}
	if dump(l) != dump(&want) || l.seen != want.seen || l.first != want.first || l.Has(id) != usual {
		t.Fatalf("%s: %q: got %s, want %s", id, value, dump(l), dump(&want))
	}
	lines, ok := l.Lines()
	if wantLines, _ := want.Lines(); !ok || !bytes.Equal(lines, wantLines) {
		t.Fatalf("%s: %q: lines %q, want %q", id, value, lines, wantLines)
	}
	if l.AddFirst(before, []byte("again")) {
		t.Fatalf("%s: added twice", before)
	}
}

// TestAddFirstNeedsRoom shows that AddFirst refuses what does not fit, and borrowed storage.
func TestAddFirstNeedsRoom(t *testing.T) {
	var l List
	if l.AddFirst(Vary, []byte("value")) {
		t.Error("added to a list without storage")
	}
	b := []byte("Host: a\r\n" + strings.Repeat("x", 100))[:9]
	l.Borrow(b)
	l.AppendSpan(Host, 0, 4, 6, 7)
	if l.AddFirst(Vary, []byte("value")) || b[:10][9] != 'x' {
		t.Error("added to borrowed storage")
	}
}
