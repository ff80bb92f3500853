// Package field stores the fields of an HTTP message: ordered names and values over one array of bytes, with IDs for
// the known names.
//
// A [List] that a parser filled holds no copy of the message. Its spans point into the parsed bytes, see
// [List.Borrow]. The first change copies these bytes into the list's own storage. Readers of a List do not notice the
// difference.
package field

import (
	"bytes"
	"slices"

	"github.com/gallop-http/gallop/internal/ascii"
)

// Span is a range of bytes in the storage of a List: Off ≤ Off+Len ≤ len(storage).
type Span struct{ Off, Len uint32 }

// Field is one field line. Its name and value are ranges of the storage.
type Field struct {
	NameOff  uint32
	ValueOff uint32
	ValueLen uint32
	NameLen  uint16
	ID       ID
}

// MaxNameLen is the maximum length of a name in a List.
const MaxNameLen = 1<<16 - 1

// keepStorage and keepFields limit the memory that Reset keeps for the next message.
const (
	keepStorage = 64 << 10
	keepFields  = 512
)

// List holds the fields of one message, in order and in their original spelling. The zero value is an empty list. A
// List is not safe for concurrent use.
//
// Its methods return views. They are valid until Reset or, while the list borrows, until the lender's bytes change.
// Changing a list moves or removes fields, but keeps the bytes that views point to.
type List struct {
	buf      []byte // storage that spans refer to: the lender's bytes, or own
	own      []byte // the list's own storage, of which len(own) bytes are in use
	borrowed bool
	again    bool // a known ID may have more than one field
	lines    int  // len(own) if own holds the fields as lines, otherwise another number; see Lines
	fields   []Field
	seen     IDs
	first    [numIDs]uint16 // by ID: 1 + index of the first such field, or 0
}

// IDs is a set of IDs below 64: the bits 1<<ID.
type IDs uint64

// has reports whether id is in s. The mask spares the processor a check of how far to shift.
func (s IDs) has(id ID) bool { return id < 64 && s>>(id&63)&1 != 0 }

// Reset empties the list and drops the lender's bytes.
func (l *List) Reset() {
	l.borrowed, l.again, l.seen = false, false, 0
	if l.buf == nil && len(l.fields) == 0 {
		return
	}
	l.buf = nil
	if cap(l.own) > keepStorage {
		l.own = nil
	}
	l.own, l.lines = l.own[:0], 0
	if len(l.fields) == 0 {
		return
	}
	l.clearFields()
}

func (l *List) clearFields() {
	if cap(l.fields) > keepFields {
		l.fields = nil
	}
	l.fields = l.fields[:0]
	l.first = [numIDs]uint16{}
}

// Poison overwrites the list's own storage with c, so that tests notice views that are kept too long. Borrowed bytes
// are left to the lender.
func (l *List) Poison(c byte) {
	own := l.own[:cap(l.own)]
	for i := range own {
		own[i] = c
	}
}

// Borrow empties the list and makes b the storage for fields that AppendSpan adds. b must not change while the list
// is in use.
func (l *List) Borrow(b []byte) {
	l.Reset()
	l.buf, l.borrowed = b, true
}

// Rebase says that the borrowed bytes moved to b, which may have further bytes after them.
func (l *List) Rebase(b []byte) { l.buf = b }

// Shorten says that only the first n of the borrowed bytes are in use.
func (l *List) Shorten(n int) { l.buf = l.buf[:n] }

// AppendSpan adds a field whose name and value lie in the borrowed bytes: the name from name to nameEnd, the value
// from value to valueEnd.
//
// It fills the field in place. Building the field elsewhere and copying it would cost a parser a fifth of its time,
// because the copy waits for narrow stores.
func (l *List) AppendSpan(id ID, name, nameEnd, value, valueEnd int) {
	n := len(l.fields)
	if n == cap(l.fields) {
		l.fields = slices.Grow(l.fields, 16)
	}
	l.fields = l.fields[:n+1]
	f := &l.fields[n]
	f.NameOff, f.NameLen = uint32(name), uint16(nameEnd-name)
	f.ValueOff, f.ValueLen = uint32(value), uint32(valueEnd-value)
	f.ID = id
	l.note(id, n)
}

// note indexes field n, which is the last one.
func (l *List) note(id ID, n int) {
	l.seen |= 1 << id // no effect if id is 64 or more
	if id == Unknown {
		return
	}
	if l.first[id] == 0 && n < 1<<16-1 {
		l.first[id] = uint16(n + 1)
	} else {
		l.again = true
	}
}

// Extend makes the borrowed bytes up to end part of the value of field i. If the value was empty, it starts at start.
func (l *List) Extend(i int, start, end uint32) {
	f := &l.fields[i]
	if f.ValueLen == 0 {
		f.ValueOff = start
	}
	f.ValueLen = end - f.ValueOff
}

// Size returns the number of bytes in storage, including those that nothing refers to any more.
func (l *List) Size() int { return len(l.buf) }

// Compact moves the bytes of all fields and spans to new storage and drops the rest. Views stay valid.
func (l *List) Compact(spans ...*Span) {
	live := 0
	for i := range l.fields {
		live += int(l.fields[i].NameLen) + int(l.fields[i].ValueLen)
	}
	for _, s := range spans {
		live += int(s.Len)
	}
	fresh := make([]byte, 0, 2*live)
	for i := range l.fields {
		f := &l.fields[i]
		name, value := l.name(f), l.value(f)
		f.NameOff = uint32(len(fresh))
		fresh = append(fresh, name...)
		f.ValueOff = uint32(len(fresh))
		fresh = append(fresh, value...)
	}
	for _, s := range spans {
		b := l.Bytes(*s)
		s.Off = uint32(len(fresh))
		fresh = append(fresh, b...)
	}
	l.own, l.buf, l.borrowed = fresh, fresh, false
	l.lines = -1
}

// Lines returns the fields as consecutive lines, if they are stored like that, which is the case while fields were
// only added. The bytes are valid until the list changes.
func (l *List) Lines() (lines []byte, ok bool) { return l.own, l.lines == len(l.own) && !l.borrowed }

// HasNone reports that the list has none of these fields. It may also return false if such fields were removed.
func (l *List) HasNone(of IDs) bool { return l.seen&of == 0 }

// Len returns the number of field lines.
func (l *List) Len() int { return len(l.fields) }

// At returns the name and value of field i, with 0 ≤ i < Len.
func (l *List) At(i int) (name, value []byte) {
	f := &l.fields[i]
	return l.name(f), l.value(f)
}

// ID returns the ID of field i.
func (l *List) ID(i int) ID { return l.fields[i].ID }

// Value returns the value of field i.
func (l *List) Value(i int) []byte { return l.value(&l.fields[i]) }

func (l *List) name(f *Field) []byte { return l.cut(f.NameOff, uint32(f.NameLen)) }

func (l *List) value(f *Field) []byte { return l.cut(f.ValueOff, f.ValueLen) }

// cut returns n bytes of storage, starting at off. If a list was copied by value, which is not allowed, its fields
// may belong to the other copy. cut returns nothing for ranges beyond the storage.
func (l *List) cut(off, n uint32) []byte {
	end := off + n
	if uint64(end) > uint64(len(l.buf)) {
		return nil
	}
	return l.buf[off:end:end]
}

// Bytes returns the bytes of s.
func (l *List) Bytes(s Span) []byte {
	if s.Len == 0 {
		return nil
	}
	return l.buf[s.Off : s.Off+s.Len : s.Off+s.Len]
}

// Find returns the index of the first field with this name, or -1. id must be Lookup(name).
func Find[S ascii.Text](l *List, id ID, name S) int {
	if id != Unknown {
		return l.FindID(id)
	}
	return next(l, 0, id, name)
}

// FindID returns the index of the first field with the known ID, or -1.
func (l *List) FindID(id ID) int {
	if len(l.fields) < 1<<16 {
		return int(l.first[id]) - 1
	}
	return l.findAmongMany(id)
}

// findAmongMany is FindID for lists with so many fields that first may not cover them.
func (l *List) findAmongMany(id ID) int {
	if i := int(l.first[id]); i != 0 {
		return i - 1
	}
	return next(l, 0, id, "")
}

// Next returns the index of the first field with this name after field i, or -1. id must be Lookup(name).
func Next[S ascii.Text](l *List, i int, id ID, name S) int { return next(l, i+1, id, name) }

func next[S ascii.Text](l *List, from int, id ID, name S) int {
	for i := from; i < len(l.fields); i++ {
		f := &l.fields[i]
		if f.ID != id {
			continue
		}
		if id != Unknown || int(f.NameLen) == len(name) && ascii.EqualFold(l.name(f), name) {
			return i
		}
	}
	return -1
}

// Has reports whether there is a field with the known ID.
func (l *List) Has(id ID) bool {
	if len(l.fields) < 1<<16 {
		return l.first[id] != 0
	}
	return l.findAmongMany(id) >= 0
}

// PeekID returns the value of the first field with the known ID, or nil.
func (l *List) PeekID(id ID) []byte {
	if i := l.FindID(id); i >= 0 {
		return l.Value(i)
	}
	return nil
}

// Store copies b into the storage and returns its span.
func Store[S ascii.Text](l *List, b S) Span {
	l.detach(len(b))
	off := len(l.own)
	l.own = append(l.own, b...)
	l.buf, l.lines = l.own, -1
	return Span{uint32(off), uint32(len(b))}
}

// detach copies borrowed bytes into the list's own storage, so that the storage can grow. Store may be called with a
// view of the same list. The view stays intact, because the storage only grows between two Resets.
func (l *List) detach(room int) {
	if !l.borrowed {
		return
	}
	if need := len(l.buf) + room; cap(l.own) < need {
		l.own = make([]byte, 0, need+need/2)
	}
	l.own = append(l.own[:0], l.buf...)
	l.buf, l.borrowed, l.lines = l.own, false, -1
}

// Add appends a field. id must be Lookup(name). The name must not be longer than MaxNameLen.
func Add[N, V ascii.Text](l *List, id ID, name N, value V) {
	l.detach(len(name) + len(value) + len(": \r\n"))
	start := len(l.own)
	own := append(append(slices.Grow(l.own, max(maxPrefix, len(name)+len(": "))+len(value)+len("\r\n")), name...), ':', ' ')
	own = append(append(own, value...), '\r', '\n')
	if l.lines == start {
		l.lines = len(own)
	}
	l.own, l.buf = own, own
	l.AppendSpan(id, start, start+len(name), start+len(name)+len(": "), len(own)-len("\r\n"))
}

// Set gives the first field with this name a new value and removes all other fields of that name. If there is none,
// Set adds the field. id must be Lookup(name). The field keeps its position.
func Set[N, V ascii.Text](l *List, id ID, name N, value V) {
	i := Find(l, id, name)
	if i < 0 {
		Add(l, id, name, value)
		return
	}
	v := Store(l, value)
	l.fields[i].ValueOff, l.fields[i].ValueLen = v.Off, v.Len
	if string(l.name(&l.fields[i])) != string(name) {
		n := Store(l, name)
		l.fields[i].NameOff = n.Off
	}
	if j := Next(l, i, id, name); j >= 0 {
		del(l, j, id, name)
	}
}

// Del removes all fields with this name. id must be Lookup(name).
func Del[N ascii.Text](l *List, id ID, name N) {
	if i := Find(l, id, name); i >= 0 {
		del(l, i, id, name)
	}
}

// del removes the fields with this name from index i on. Field i must have this name.
func del[N ascii.Text](l *List, i int, id ID, name N) {
	kept := l.fields[:i]
	for j := next(l, i, id, name); ; {
		k := next(l, j+1, id, name)
		if k < 0 {
			kept = append(kept, l.fields[j+1:]...)
			break
		}
		kept = append(kept, l.fields[j+1:k]...)
		j = k
	}
	l.fields = kept
	l.reindex()
}

// DelAt removes field i.
func (l *List) DelAt(i int) {
	l.fields = append(l.fields[:i], l.fields[i+1:]...)
	l.reindex()
}

func (l *List) reindex() {
	l.lines, l.first = -1, [numIDs]uint16{}
	for i := min(len(l.fields), 1<<16-1) - 1; i >= 0; i-- {
		l.first[l.fields[i].ID] = uint16(i + 1)
	}
	l.first[Unknown] = 0
}

// SetValueAt gives field i a new value.
func SetValueAt[V ascii.Text](l *List, i int, value V) {
	v := Store(l, value)
	l.fields[i].ValueOff, l.fields[i].ValueLen = v.Off, v.Len
}

// CopyTo makes dst equal to l, with its own storage. Spans of l are also valid in dst.
func (l *List) CopyTo(dst *List) {
	dst.Reset()
	dst.own = append(dst.own[:0], l.buf...)
	dst.buf, dst.lines = dst.own, -1
	if !l.borrowed {
		dst.lines = l.lines
	}
	dst.fields = append(dst.fields[:0], l.fields...)
	dst.again, dst.seen, dst.first = l.again, l.seen, l.first
}

// Equal reports whether l and o have the same fields, and the same bytes in storage.
func (l *List) Equal(o *List) bool {
	return bytes.Equal(l.buf, o.buf) && slices.Equal(l.fields, o.fields)
}
