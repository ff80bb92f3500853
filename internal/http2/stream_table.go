package http2

import (
	"math/bits"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// noSlot is returned by find for a stream that is not in the table.
const noSlot = -1

// streamTable has the streams of a connection. A stream keeps its slot until it is released. The table starts empty and grows
// with the number of streams at the same time. Conn limits that number.
type streamTable struct {
	slots []stream // an id of 0 marks a free slot
	index []uint16 // a hash table with open addressing: slot + 1 of each stream, or 0. It has indexPerSlot entries for each slot
	next  uint16   // slot + 1 of the free slot that is used next, or 0. Free slots are a list through stream.next
	used  uint16   // number of used slots
	live  uint16   // number of streams that are not closed
	lent  uint8    // after lend: the binary logarithm of the number of slots that the table takes back
	peak  uint8    // largest number of used slots since lend
}

const (
	firstSlots   = 4
	indexPerSlot = 4

	// mostLent is how many slots are lent at most. peak does not count further.
	mostLent = 256
)

// find returns the slot of a stream, or noSlot.
func (t *streamTable) find(id uint32) int {
	if len(t.index) == 0 {
		return noSlot
	}
	for i := t.home(id); ; i = (i + 1) & (len(t.index) - 1) {
		n := int(t.index[i])
		if n == 0 {
			return noSlot
		}
		if t.slots[n-1].id == id {
			return n - 1
		}
	}
}

// home returns the preferred index of a stream. All identifiers on a connection have the same parity and count up, so they rarely
// collide, and there are gaps between them, at which searches end.
func (t *streamTable) home(id uint32) int { return int(id) & (len(t.index) - 1) }

// add adds an open stream and returns its slot.
func (t *streamTable) add(id uint32) int {
	if t.next == 0 {
		t.growSlots()
	}
	slot := int(t.next) - 1
	t.next = t.slots[slot].next
	t.slots[slot] = stream{id: id, state: open, length: noLength, priority: defaultPriority}
	t.used++
	t.live++
	t.peak = uint8(max(uint16(t.peak), min(t.used, 255)))
	t.enter(slot)
	return slot
}

// Tables take their memory from pools, and give back what they have outgrown or do not need at the moment. A connection without
// streams thus has no large table, however many streams it has at other times.
var (
	slotPool  bufpool.Slices[stream]
	indexPool bufpool.Slices[uint16]
)

// growSlots doubles the number of slots, and makes an index for them. An empty table takes as many as lend has noted.
func (t *streamTable) growSlots() {
	old := t.slots
	n := max(firstSlots, 2*len(old))
	if t.lent > 0 {
		n = 1 << t.lent
	}
	t.slots, t.lent = slotPool.Get(n), 0
	copy(t.slots, old)
	for slot := len(t.slots) - 1; slot >= len(old); slot-- {
		t.release(slot)
	}
	indexPool.Put(t.index)
	t.index = indexPool.Get(indexPerSlot * n)
	for slot := range old {
		if old[slot].id != 0 {
			t.enter(slot)
		}
	}
	slotPool.Put(old)
}

// lend gives many slots to other tables, if none is used. The table takes back as many when it needs some, or half of them if it
// has used fewer.
func (t *streamTable) lend() {
	n := len(t.slots)
	if t.used > 0 || n < 32 || n > mostLent {
		return
	}
	lent := bits.TrailingZeros(uint(n))
	if 2*int(t.peak) <= n {
		lent--
	}
	t.free()
	t.lent = uint8(lent)
}

// free gives back the memory of a table that has no streams, or whose streams are not needed any more.
func (t *streamTable) free() {
	slotPool.Put(t.slots)
	indexPool.Put(t.index)
	*t = streamTable{}
}

// release puts a slot at the front of the list of free ones.
func (t *streamTable) release(slot int) { t.slots[slot].next, t.next = t.next, uint16(slot+1) }

// enter adds a slot to the index, which has room.
func (t *streamTable) enter(slot int) {
	i := t.home(t.slots[slot].id)
	for t.index[i] != 0 {
		i = (i + 1) & (len(t.index) - 1)
	}
	t.index[i] = uint16(slot + 1)
}

// remove frees the slot of a stream.
func (t *streamTable) remove(slot int) {
	i := t.home(t.slots[slot].id)
	for int(t.index[i]) != slot+1 {
		i = (i + 1) & (len(t.index) - 1)
	}
	t.unindex(i)
	t.slots[slot].id = 0
	t.release(slot)
	t.used--
}

// unindex empties index i, and moves later entries that find would no longer reach.
func (t *streamTable) unindex(i int) {
	mask := len(t.index) - 1
	for j := (i + 1) & mask; t.index[j] != 0; j = (j + 1) & mask {
		home := t.home(t.slots[t.index[j]-1].id)
		if (j-home)&mask >= (j-i)&mask {
			t.index[i], i = t.index[j], j
		}
	}
	t.index[i] = 0
}

// shrink frees the memory of a table without streams.
func (t *streamTable) shrink() {
	if t.used == 0 {
		t.free()
	}
}
