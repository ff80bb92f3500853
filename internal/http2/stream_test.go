package http2

import (
	"math/rand/v2"
	"testing"
)

// The picture of the states, arrow by arrow.
func TestStates(t *testing.T) {
	for _, tt := range []struct {
		s, recvEnd, sendEnd state
		mayReceive, maySend bool
	}{
		{open, halfRemote, halfLocal, true, true},
		{halfRemote, closed, closed, false, true},
		{halfLocal, closed, closed, true, false},
		{closed, closed, closed, false, false},
	} {
		if got := tt.s.mayReceive(); got != tt.mayReceive {
			t.Errorf("state %d may receive: %v", tt.s, got)
		}
		if got := tt.s.maySend(); got != tt.maySend {
			t.Errorf("state %d may send: %v", tt.s, got)
		}
		if got := tt.s.afterRecvEnd(); tt.mayReceive && got != tt.recvEnd {
			t.Errorf("state %d, END_STREAM received: %d", tt.s, got)
		}
		if got := tt.s.afterSendEnd(); tt.maySend && got != tt.sendEnd {
			t.Errorf("state %d, END_STREAM sent: %d", tt.s, got)
		}
	}
}

// The table behaves as a map, whatever the order of additions and removals.
func TestStreamTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var table streamTable
	model := map[uint32]int{}
	var ids []uint32
	next := uint32(1)
	for range 200_000 {
		if len(ids) < 100 && r.IntN(2) == 0 {
			next += 2 * (1 + r.Uint32N(5)*r.Uint32N(2))
			model[next] = table.add(next)
			ids = append(ids, next)
		} else if len(ids) > 0 {
			i := r.IntN(len(ids))
			table.remove(model[ids[i]])
			delete(model, ids[i])
			if table.find(ids[i]) != noSlot {
				t.Fatalf("stream %d is still there", ids[i])
			}
			ids[i] = ids[len(ids)-1]
			ids = ids[:len(ids)-1]
		}
		if id := next - 2*r.Uint32N(200); int(id) > 0 {
			if want, ok := model[id]; table.find(id) != want && (ok || table.find(id) != noSlot) {
				t.Fatalf("stream %d has slot %d, want %d, %v", id, table.find(id), want, ok)
			}
		}
		if int(table.used) != len(ids) {
			t.Fatalf("%d streams, want %d", table.used, len(ids))
		}
	}
	if len(table.slots) > 128 || len(table.index) > 1024 {
		t.Errorf("%d slots, index of %d", len(table.slots), len(table.index))
	}
}

// A table without streams lends its slots. It takes back as many as it needs, and others find no streams in them.
func TestStreamTableLends(t *testing.T) {
	var table streamTable
	next := uint32(1)
	burst := func(n int) (slots int) {
		first := next
		for range n {
			slot := table.add(next)
			if st := &table.slots[slot]; st.id != next || st.gotHead || table.find(next) != slot {
				t.Fatalf("stream %d: %+v, found in %d, not %d", next, *st, table.find(next), slot)
			}
			table.slots[slot].gotHead = true
			next += 2
		}
		table.lend() // does nothing
		slots = len(table.slots)
		for id := first; id < next; id += 2 {
			table.remove(table.find(id))
		}
		return slots
	}
	for i, tt := range []struct{ streams, slots, kept int }{
		{100, 128, 0}, {100, 128, 0}, {60, 128, 0}, {1, 64, 0}, {1, 32, 0}, {1, 16, 16}, {20, 32, 0}, {300, 512, 512},
	} {
		slots := burst(tt.streams)
		if table.lend(); slots != tt.slots || len(table.slots) != tt.kept {
			t.Errorf("burst %d: %d slots, and then %d; want %d, %d", i, slots, len(table.slots), tt.slots, tt.kept)
		}
		if table.find(next-2) != noSlot {
			t.Errorf("burst %d: stream %d is still there", i, next-2)
		}
		var other streamTable
		for range 40 {
			other.add(1<<20 + next)
			next += 2
		}
		for slot := range other.slots {
			if id := other.slots[slot].id; id > 0 && id < 1<<20 {
				t.Fatalf("burst %d: another table has stream %d", i, id)
			}
		}
	}
}

// The entries of streams with consecutive identifiers have gaps between them, so that no search and no removal passes many of them.
func TestStreamTableHasGaps(t *testing.T) {
	var table streamTable
	for id := uint32(1); id < 1000; id += 2 {
		if table.add(id); table.used == 128 {
			table.remove(table.find(id - 2*127))
		}
		for i, n := range table.index {
			if n != 0 && (i != table.home(table.slots[n-1].id) || table.index[(i+1)%len(table.index)] != 0) {
				t.Fatalf("stream %d: index %d", table.slots[n-1].id, i)
			}
		}
	}
}

// BenchmarkStreamTable adds a stream and removes the oldest one of 100.
func BenchmarkStreamTable(b *testing.B) {
	var table streamTable
	next := uint32(1)
	for ; next < 200; next += 2 {
		table.add(next)
	}
	for b.Loop() {
		table.add(next)
		table.remove(table.find(next - 198))
		next += 2
	}
}

func TestSkippedStreams(t *testing.T) {
	var c closedStreams
	for _, id := range []uint32{1, 3, 9, 11} {
		c.use(id)
	}
	for id, want := range map[uint32]bool{1: false, 3: false, 5: true, 7: true, 9: false, 11: false} {
		if c.wasSkipped(id) != want {
			t.Errorf("stream %d: want %v", id, want)
		}
	}
}

func TestRecvWindow(t *testing.T) {
	w := newRecvWindow(100)
	if w.take(101) || !w.take(100) || w.take(1) {
		t.Error("take")
	}
	if w.give(49) != 0 || w.give(1) != 50 || w.open != 50 {
		t.Error("give")
	}
	w = newRecvWindow(1)
	if w.give(0) != 0 || !w.take(1) || w.give(1) != 1 {
		t.Error("a window of one byte")
	}
	w = newRecvWindow(100)
	if w.grow(100) != 0 || w.grow(150) != 50 || w.open != 150 || w.size != 150 {
		t.Error("grow")
	}
	if w.resize(-120) != 0 || w.open != 30 || w.size != 30 {
		t.Error("resize")
	}
	w = newRecvWindow(100)
	if !w.take(40) || w.give(40) != 0 || w.resize(-50) != 40 || w.open != 50 {
		t.Error("resize to a size of which the half is owed")
	}
}

func TestSendWindow(t *testing.T) {
	w := sendWindow(0)
	if w.add(maxWindow+1) || !w.add(maxWindow) || w.add(1) || !w.add(-maxWindow) || !w.add(-maxWindow) || w != -maxWindow {
		t.Errorf("window %d", w)
	}
}
