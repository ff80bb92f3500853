package hpack

import (
	"math"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// Encoder has the state of one direction of a connection: a copy of the dynamic table in the peer's decoder. Call Init
// before use. An Encoder is not safe for concurrent use.
//
// A block begins with [Encoder.Begin]. Each Append function adds a field to it, pseudo-fields first. Send all blocks, in the
// order in which they were encoded, because each block may change the peer's table. Do not drop the block of a stream that
// was reset meanwhile.
//
// If a field is in the table, it takes one or two bytes. Encoding does not allocate, except to grow dst and the table.
type Encoder struct {
	table table

	// latest has the entry that was used last, for each slot of names (see slotOf): the entry's number plus 1, modulo 2^8.
	// The number may be outdated, so find checks the entry.
	latest [32]uint8

	limit    uint32 // the largest table that this side wants
	told     uint32 // size of the peer's table, as of the last table size update
	peerMax  uint32 // maximum that the peer allows
	smallest uint32 // smallest value that peerMax was set to since the last block; notSet if it was not
}

const notSet = math.MaxUint32

// Init prepares e for a new connection. It uses up to limit bytes of the peer's table, but not more than the peer allows. 0
// turns the table off. A smaller limit takes less memory here, but evicts fields sooner, which are then sent in full again.
func (e *Encoder) Init(limit int) {
	*e = Encoder{limit: uint32(min(limit, MaxTableSize)), told: DefaultTableSize, peerMax: DefaultTableSize, smallest: notSet}
	e.resize()
}

// Free gives back the memory of the table. e must not be used any more.
func (e *Encoder) Free() { e.table.free() }

// SetPeerMaxTableSize applies a SETTINGS_HEADER_TABLE_SIZE of the peer. The next block begins with the table size update
// that RFC 9113 §4.3.1 requires, if any.
func (e *Encoder) SetPeerMaxTableSize(n uint32) {
	e.peerMax = n
	e.smallest = min(e.smallest, n)
}

// Generation returns a number that changes whenever the table changes. If it is equal before two calls that encode the same
// fields, and the first call did not change it, both calls append the same bytes.
func (e *Encoder) Generation() uint64 { return uint64(e.table.changes) }

// Begin starts a field block: it appends the table size update that is due, if any.
func (e *Encoder) Begin(dst []byte) []byte {
	if e.peerMax == e.told && e.smallest >= e.told {
		return dst
	}
	return e.update(dst)
}

// update chooses the largest size that the peer has permitted ever since the last block, and appends it if it is new (RFC
// 7541 §4.2). If the peer has reduced and then increased the maximum, the second block afterwards uses the increase. RFC
// 7541 permits two updates in one block, but x/net refuses the second one. The table becomes larger than DefaultTableSize
// only if this side wants that.
func (e *Encoder) update(dst []byte) []byte {
	size := min(e.smallest, e.peerMax, max(e.limit, DefaultTableSize))
	e.smallest = notSet
	if size == e.told {
		return dst
	}
	e.told = size
	e.resize()
	return appendInt(dst, 0x20, 0x1f, int(size))
}

// resize adapts the table to the peer's. A smaller table here forgets the oldest entries earlier than the peer does. The
// indexes of the remaining entries are the same on both sides, because they count from the newest entry.
func (e *Encoder) resize() { e.table.setMax(int(min(e.told, e.limit))) }

// find returns the index of the dynamic entry with this name and value, or 0. Without such an entry, it returns the index of
// an entry with this name as nameIndex, or 0.
func find[V ascii.Text](e *Encoder, id field.ID, p Pseudo, value V) (index, nameIndex int) {
	t, slot := &e.table, slotOf(id, p)
	age := int(uint8(t.added) - e.latest[slot])
	if entry := t.at(age); entry != nil && entry.id == id && entry.pseudo == p {
		nameIndex = lastStatic + 1 + age
		if hasValue(t, entry, value) {
			return nameIndex, 0
		}
	}
	for age = range int(t.count) {
		if entry := t.at(age); entry.id == id && entry.pseudo == p && hasValue(t, entry, value) {
			e.latest[slot] = uint8(t.added) - uint8(age)
			return lastStatic + 1 + age, 0
		}
	}
	return 0, nameIndex
}

// slotOf returns the index in latest for a name. Several names may have the same.
func slotOf(id field.ID, p Pseudo) int { return int(id+field.ID(p)<<3) % len(Encoder{}.latest) }

func hasValue[V ascii.Text](t *table, e *entry, value V) bool {
	return int(e.valueLen) == len(value) && hasText(t, e.valueStart(), value)
}
