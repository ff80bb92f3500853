package hpack

import (
	"github.com/gallop-http/gallop/internal/field"
)

// Limits limits what a field block may hold. All lengths are those after decoding.
type Limits struct {
	List   int // maximum size of the list: names and values, and FieldOverhead for each field (RFC 9113 §10.5.1)
	Fields int // maximum number of field lines, including pseudo-fields
	String int // maximum bytes of a name or a value. Names are also limited to field.MaxNameLen
}

// Block decodes one field block, see [Decoder.Start]. The zero value can be started.
//
// Next decodes a field at a time, so that the caller can place it where it belongs, for example in a field.List that
// borrows Out:
//
//	b.Out = storage[:0]
//	d.Start(&b, in, &limits)
//	for b.Next() {
//		list.AppendSpan(b.ID, …)
//	}
//	list.Rebase(b.Out)
//
// Next must be called until it returns false. To ignore the fields that are left, call Discard. If the block exceeds a
// limit, Next returns no further field, but decodes the rest for the sake of the table. Beyond the limit, it stores
// nothing in Out, except for the field in work if that goes into the table. Out therefore grows to at most Limits.List or
// the size of the table, plus the slack of append.
type Block struct {
	Out   []byte // the fields' bytes
	Field        // the field that Next decoded

	d       *Decoder
	in      []byte
	at      int // index of the next byte of in
	limits  *Limits
	size    int64 // of the list so far
	count   int   // of fields so far
	updates int   // of the table's size
	err     *Error
	excess  *Error
}

// Next decodes the next field into b.Field and reports whether there was one.
func (b *Block) Next() bool {
	for b.at < len(b.in) && b.err == nil {
		ok := false
		switch c := b.in[b.at]; {
		case c >= 0x80:
			ok = b.indexed()
		case c >= 0x40:
			ok = b.literal(0x3f, true, false)
		case c >= 0x20:
			b.resize()
		default:
			ok = b.literal(0x0f, false, c >= 0x10)
		}
		if ok {
			return true
		}
	}
	return false
}

// Discard decodes the rest of the block for the sake of the table, and ignores its fields. It returns the same as Err.
func (b *Block) Discard() error {
	if b.excess == nil {
		b.excess = errDiscarded
	}
	for b.Next() {
	}
	return b.Err()
}

// errDiscarded takes the place of a limit in a block that is discarded.
var errDiscarded = &Error{Reason: "block is discarded", Limit: true}

// Err returns why the block cannot be decoded, or nil. It is a connection error of type COMPRESSION_ERROR.
func (b *Block) Err() error { return errorOf(b.err) }

// Excess returns which limit the block exceeds, or nil. The connection can go on.
func (b *Block) Excess() error {
	if b.excess == errDiscarded {
		return nil
	}
	return errorOf(b.excess)
}

// Size returns the size of the list so far, including fields beyond a limit (RFC 9113 §10.5.1).
func (b *Block) Size() int64 { return b.size }

func (b *Block) fail(err *Error) {
	if b.err == nil {
		b.err = err
	}
}

// indexed decodes an indexed field (RFC 7541 §6.1).
func (b *Block) indexed() bool {
	i := b.integer(0x7f)
	if i > lastStatic {
		return b.indexedDynamic(i - lastStatic - 1)
	}
	if i == 0 {
		b.fail(ErrIndex)
		return false
	}
	e := &statics[i]
	if !b.admit(len(e.name), len(e.value)) {
		return false
	}
	b.Field = Field{ID: e.id, Pseudo: e.pseudo}
	if e.pseudo == Regular {
		b.Name = field.Span{Off: uint32(len(b.Out)), Len: uint32(len(e.name))}
		b.Out = append(b.Out, e.name...)
	}
	b.Value = field.Span{Off: uint32(len(b.Out)), Len: uint32(len(e.value))}
	b.Out = append(b.Out, e.value...)
	return true
}

func (b *Block) indexedDynamic(age int) bool {
	t := &b.d.table
	e := t.at(age)
	if e == nil {
		b.fail(ErrIndex)
		return false
	}
	if !b.admit(int(e.nameLen), int(e.valueLen)) {
		return false
	}
	off, n := uint32(len(b.Out)), uint32(e.nameLen)
	b.Field = Field{ID: e.id, Pseudo: e.pseudo, Form: e.form}
	if e.pseudo != Regular {
		n = 0
	}
	b.Name = field.Span{Off: off, Len: n}
	b.Value = field.Span{Off: off + n, Len: uint32(e.valueLen)}
	b.Out = t.appendText(b.Out, e.valueStart()-n, int(n)+int(e.valueLen))
	return true
}

// resize decodes a table size update (RFC 7541 §6.3). A block may begin with two of them, if the size was first reduced
// and then increased between two blocks (RFC 7541 §4.2).
func (b *Block) resize() {
	d, n := b.d, b.integer(0x1f)
	switch {
	case b.err != nil:
		return
	case b.count > 0:
		b.fail(ErrSizeUpdateLate)
	case b.updates == 2:
		b.fail(ErrSizeUpdates)
	case n > int(min(d.allowed, d.due)):
		b.fail(ErrSizeUpdateLarge)
	default:
		b.updates++
		d.due = notDue
		d.table.setMax(n)
	}
}

// admit counts a field with a name and a value of these lengths. It reports whether the block is within its limits.
func (b *Block) admit(name, value int) bool {
	b.size += int64(name) + int64(value) + FieldOverhead
	b.count++
	if b.excess != nil {
		return false
	}
	switch lim := b.limits; {
	case b.size > int64(lim.List):
		b.excess = ErrListTooLarge
	case b.count > lim.Fields:
		b.excess = ErrTooManyFields
	case name > lim.String, value > lim.String, name > field.MaxNameLen:
		b.excess = ErrStringTooLong
	}
	return b.excess == nil
}

// integer decodes an integer whose prefix has the bits of mask. It returns 0 after an error.
func (b *Block) integer(mask byte) int {
	n, next, err := readInt(b.in, b.at, mask)
	if err != nil {
		b.fail(err)
	}
	b.at = next
	return n
}
