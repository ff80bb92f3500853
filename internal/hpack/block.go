package hpack

import "github.com/gallop-http/gallop/internal/bufpool"

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
// Call Next until it returns false, then check Err and Excess. To ignore the remaining fields, call Discard. If the block
// exceeds a limit, Next returns no further field, but decodes the rest for the sake of the table. Fields beyond the limit
// are only counted. If such a field goes into the table, Out holds it for a moment. The fields in Out therefore take at most
// Limits.List bytes, and that moment the size of the table in addition.
type Block struct {
	Out     []byte // the fields' bytes; grown with bufpool
	MaxSize int64  // the size of the list beyond which decoding ends with ErrListFarTooLarge; 0 means no such limit
	Field          // the field that Next decoded

	d       *Decoder
	in      []byte
	at      int // index of the next byte of in
	limits  *Limits
	size    int64 // of the list so far
	list    int64 // limits.List, or -1 when no further field is admitted
	count   int   // of fields so far
	updates int   // of the table's size
	err     *Error
	excess  *Error
}

// Next decodes the next field into b.Field and reports whether there was one.
func (b *Block) Next() bool {
	for b.at < len(b.in) && b.err == nil {
		c := b.in[b.at]
		if c > 0x80 && c < 0xff { // the index of an entry fits the prefix
			b.at++
			if b.indexed(int(c & 0x7f)) {
				return true
			}
		} else if b.instruction(c) {
			return true
		}
	}
	return false
}

// instruction decodes a field or a table size update that begins with c (RFC 7541 §6). It reports whether that was a field
// that the caller gets.
func (b *Block) instruction(c byte) bool {
	switch {
	case c >= 0x80:
		return b.indexed(b.integer(0x7f))
	case c >= 0x40:
		return b.literal(0x3f, true, false)
	case c >= 0x20:
		b.resize()
		return false
	}
	return b.literal(0x0f, false, c >= 0x10)
}

// Discard decodes the rest of the block for the sake of the table, and ignores its fields. It returns the same as Err.
func (b *Block) Discard() error {
	if b.excess == nil {
		b.excess, b.list = errDiscarded, -1
	}
	for b.Next() {
	}
	return b.Err()
}

// errDiscarded takes the place of a limit in a block that is discarded.
var errDiscarded = &Error{Reason: "block is discarded", Limit: true}

// Err returns why the block cannot be decoded, or nil. It is a connection error of type COMPRESSION_ERROR, unless it is
// ErrListFarTooLarge.
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

// Count returns the number of fields so far, including fields beyond a limit.
func (b *Block) Count() int { return b.count }

func (b *Block) fail(err *Error) {
	if b.err == nil {
		b.err = err
	}
}

// indexed decodes an indexed field with this index (RFC 7541 §6.1).
func (b *Block) indexed(index int) bool {
	if index <= lastStatic && index > 0 {
		return b.indexedStatic(&statics[index])
	}
	e := b.d.table.at(index - lastStatic - 1)
	if e == nil {
		b.fail(ErrIndex)
		return false
	}
	return b.indexedDynamic(e)
}

func (b *Block) indexedStatic(e *staticEntry) bool {
	if !b.admit(len(e.name), len(e.value)) {
		return false
	}
	b.ID, b.Pseudo, b.Form, b.Sensitive = e.id, e.pseudo, 0, false
	b.setSpans(e.shown, len(e.value))
	b.reserve(len(e.text))
	b.Out = append(b.Out, e.text...)
	return true
}

func (b *Block) indexedDynamic(e *entry) bool {
	name, value := int(e.nameLen), int(e.valueLen)
	if !b.admit(name, value) {
		return false
	}
	b.ID, b.Pseudo, b.Form, b.Sensitive = e.id, e.pseudo, e.form, false
	start := e.start
	if e.pseudo != Regular {
		name, start = 0, e.valueStart()
	}
	b.setSpans(name, value)
	b.reserve(name + value)
	b.Out = b.d.table.appendText(b.Out, start, name+value)
	return true
}

// reserve makes room for n bytes in a large Out. It is inlined because grow is not.
func (b *Block) reserve(n int) {
	if n > cap(b.Out)-len(b.Out) {
		b.grow(n)
	}
}

// grow takes a large Out from a pool, so that large blocks leave no garbage. A small one is left to append.
//
//go:noinline
func (b *Block) grow(n int) {
	if len(b.Out)+n > bufpool.MinSize {
		b.Out = bufpool.Grow(b.Out, n)
	}
}

// setSpans says that a name and a value of these lengths follow at the end of Out.
func (b *Block) setSpans(name, value int) {
	off := uint32(len(b.Out))
	b.Name.Off, b.Name.Len = off, uint32(name)
	b.Value.Off, b.Value.Len = off+uint32(name), uint32(value)
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
	b.size += int64(name + value + FieldOverhead)
	b.count++
	return b.size <= b.list && b.count <= b.limits.Fields && max(name, value) <= b.limits.String || b.exceed()
}

// exceed notes which limit the field that was counted last exceeds, unless an earlier one did. It returns false.
func (b *Block) exceed() bool {
	switch {
	case b.MaxSize > 0 && b.size > b.MaxSize:
		b.fail(ErrListFarTooLarge)
	case b.excess != nil:
	case b.size > int64(b.limits.List):
		b.excess = ErrListTooLarge
	case b.count > b.limits.Fields:
		b.excess = ErrTooManyFields
	default:
		b.excess = ErrStringTooLong
	}
	b.list = -1
	return false
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
