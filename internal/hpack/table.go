package hpack

import (
	"math/bits"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/field"
)

// table is a dynamic table (RFC 7541 §2.3.2). It copies names and values into a ring of bytes. Both rings start empty and
// grow with what is stored, so the table of an idle connection takes little memory. The zero value is a table of size 0.
//
// Positions in text count the bytes that were ever written, and wrap around at 2^32. A position modulo len(text) is an
// index. Entry number i, counted from 0 since the beginning, is at index i modulo len(entries).
//
//	entries    added-count … added-1          the live entries, from the oldest to the newest
//	text       start of the oldest … end      their names and values, in the same order
type table struct {
	text    []byte  // the length is 0 or a power of two
	entries []entry // the length is 0 or a power of two

	end   uint32 // position after the newest entry's value
	added uint32 // number of entries that were ever added
	count uint32 // number of entries that are in the table
	size  uint32 // sum of the entries' sizes (RFC 7541 §4.1), at most max
	max   uint32 // at most MaxTableSize

	// changes grows whenever the meaning of an index may change: with each added entry and each new size. It wraps around.
	changes uint32
}

// entry is an entry of a dynamic table. Its value follows its name in the ring.
type entry struct {
	start    uint32 // position of the name
	nameLen  uint16
	valueLen uint16
	id       field.ID
	pseudo   Pseudo
	form     Form
}

func (e *entry) size() uint32 { return uint32(e.nameLen) + uint32(e.valueLen) + FieldOverhead }

func (e *entry) valueStart() uint32 { return e.start + uint32(e.nameLen) }

// entryPool has rings of entries that tables have outgrown, or do not need any more.
var entryPool bufpool.Slices[entry]

// Capacities of the rings when the first entry is added. Both are powers of two.
const (
	firstText    = 64
	firstEntries = 2
)

// at returns the entry that was added age entries before the newest one, or nil.
func (t *table) at(age int) *entry {
	if uint64(age) >= uint64(t.count) {
		return nil
	}
	return &t.entries[(t.added-1-uint32(age))&uint32(len(t.entries)-1)]
}

// setMax changes the maximum size and evicts what does not fit any more (RFC 7541 §4.3).
func (t *table) setMax(n int) {
	t.max = uint32(min(n, MaxTableSize))
	t.changes++
	t.evict(t.max)
	if t.max == 0 {
		t.free()
	}
}

// free gives back the memory of a table without entries, or of one that is not needed any more.
func (t *table) free() {
	bufpool.Release(&t.text)
	entryPool.Put(t.entries)
	t.entries = nil
}

// evict drops the oldest entries until the size is at most n.
func (t *table) evict(n uint32) {
	for t.size > n {
		t.size -= t.at(int(t.count - 1)).size()
		t.count--
	}
}

// fits reports whether an entry with a name and a value of these lengths fits into the empty table.
func (t *table) fits(name, value int) bool { return name+value+FieldOverhead <= int(t.max) }

// clear drops all entries, which is also the effect of an entry that does not fit (RFC 7541 §4.4).
func (t *table) clear() {
	t.changes++
	t.evict(0)
}

// add adds an entry, which fits, with the properties of e, and evicts the oldest entries to make room. The name may be
// one of an evicted entry, as long as it is not a view of the ring.
func add[N, V ascii.Text](t *table, name N, value V, e entry) {
	e.nameLen, e.valueLen = uint16(len(name)), uint16(len(value))
	t.evict(t.max - e.size())
	t.reserve(uint32(len(name) + len(value)))
	e.start = t.end
	put(t, name)
	put(t, value)
	t.entries[t.added&uint32(len(t.entries)-1)] = e
	t.added++
	t.count++
	t.changes++
	t.size += e.size()
}

// put writes s to the ring.
func put[S ascii.Text](t *table, s S) {
	n := copy(t.text[t.end&uint32(len(t.text)-1):], s)
	copy(t.text, s[n:])
	t.end += uint32(len(s))
}

// reserve makes room in the rings for an entry with n bytes.
func (t *table) reserve(n uint32) {
	oldest := t.end
	if t.count > 0 {
		oldest = t.at(int(t.count - 1)).start
	}
	if need := max(t.end-oldest+n, 1); need > uint32(len(t.text)) {
		t.growText(oldest, max(firstText, 1<<bits.Len32(need-1)))
	}
	if t.count == uint32(len(t.entries)) {
		t.growEntries(max(firstEntries, 2*len(t.entries)))
	}
}

// growText moves the bytes from position oldest on to a larger ring. Their positions stay the same.
func (t *table) growText(oldest uint32, n int) {
	var fresh []byte
	if n < bufpool.MinSize {
		fresh = make([]byte, n)
	} else {
		fresh = bufpool.Get(n)[:n]
	}
	for p := oldest; p != t.end; p++ {
		fresh[p&uint32(n-1)] = t.text[p&uint32(len(t.text)-1)]
	}
	bufpool.Put(t.text)
	t.text = fresh
}

func (t *table) growEntries(n int) {
	fresh := entryPool.Get(n)
	for i := t.added - t.count; i != t.added; i++ {
		fresh[i&uint32(n-1)] = t.entries[i&uint32(len(t.entries)-1)]
	}
	entryPool.Put(t.entries)
	t.entries = fresh
}

// appendText appends the n bytes from position start on, which may wrap around the end of the ring.
func (t *table) appendText(dst []byte, start uint32, n int) []byte {
	i := int(start & uint32(len(t.text)-1))
	if first := len(t.text) - i; n > first {
		return append(append(dst, t.text[i:]...), t.text[:n-first]...)
	}
	return append(dst, t.text[i:i+n]...)
}

// hasText reports whether the bytes from position start on are those of s. The ring has at least len(s) bytes.
func hasText[S ascii.Text](t *table, start uint32, s S) bool {
	i := int(start & uint32(len(t.text)-1))
	if first := len(t.text) - i; len(s) > first {
		return string(t.text[i:]) == string(s[:first]) && string(t.text[:len(s)-first]) == string(s[first:])
	}
	return string(t.text[i:i+len(s)]) == string(s)
}
