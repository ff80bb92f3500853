package hpack

import "github.com/gallop-http/gallop/internal/field"

// literal decodes a literal field (RFC 7541 §6.2): the index of a name in the bits of mask, or 0 and the name, and then
// the value.
//
// Name and value are decoded to the end of Out. They are removed again if the field exceeds a limit.
func (b *Block) literal(mask byte, insert, sensitive bool) bool {
	mark, room := len(b.Out), b.room(insert)
	b.Field = Field{Sensitive: sensitive}
	name, nameLen := b.literalName(mask, room)
	if b.err != nil {
		return false
	}
	value, valueLen := b.text(room - nameLen)
	if b.err != nil {
		return false
	}
	b.Value = value
	b.Form |= formOfValue(b.bytes(value))
	if insert {
		b.insert(name, nameLen, valueLen)
	}
	if !b.admit(nameLen, valueLen) || nameLen > field.MaxNameLen && !b.exceed() {
		b.Out = b.Out[:mark]
		return false
	}
	if b.Pseudo != Regular {
		b.Name = field.Span{}
	}
	return true
}

// room returns how many bytes of the next field need to be stored: those that the caller may get, and those that the table
// may keep. A string that does not fit is only measured.
func (b *Block) room(insert bool) (n int) {
	if b.excess == nil {
		n = max(0, b.limits.List-int(b.size))
	}
	if insert {
		n = max(n, int(b.d.table.max))
	}
	return n
}

// literalName decodes the name of a literal field and returns its length. It stores the name in Out, unless the name is one
// of a pseudo-field in the static table, which it returns.
func (b *Block) literalName(mask byte, room int) (static string, n int) {
	i := b.integer(mask)
	switch {
	case b.err != nil:
		return "", 0
	case i == 0:
		return "", b.newName(room)
	case i > lastStatic:
		return "", b.dynamicName(i-lastStatic-1, room)
	}
	e := &statics[i]
	b.ID, b.Pseudo = e.id, e.pseudo
	if e.pseudo == Regular && len(e.name) <= room {
		b.Name = field.Span{Off: uint32(len(b.Out)), Len: uint32(len(e.name))}
		b.reserve(len(e.name))
		b.Out = append(b.Out, e.name...)
	}
	return e.name, len(e.name)
}

func (b *Block) dynamicName(age, room int) (n int) {
	t := &b.d.table
	e := t.at(age)
	if e == nil {
		b.fail(ErrIndex)
		return 0
	}
	b.ID, b.Pseudo, b.Form = e.id, e.pseudo, e.form&BadName
	if n = int(e.nameLen); n <= room {
		b.Name = field.Span{Off: uint32(len(b.Out)), Len: uint32(n)}
		b.reserve(n)
		b.Out = t.appendText(b.Out, e.start, n)
	}
	return n
}

func (b *Block) newName(room int) (n int) {
	b.Name, n = b.text(room)
	name := b.bytes(b.Name)
	if b.Pseudo = pseudoOf(name); b.Pseudo == Regular {
		b.ID, b.Form = field.Lookup(name), formOfName(name)
	}
	return n
}

// text decodes the string literal at b.at (RFC 7541 §5.2) and returns its length. If that is at most room, the string is
// stored at the end of Out; otherwise s is empty.
func (b *Block) text(room int) (s field.Span, n int) {
	if b.at >= len(b.in) {
		b.fail(ErrTruncated)
		return s, 0
	}
	huffman := b.in[b.at] >= 0x80
	n = b.integer(0x7f)
	if b.err != nil {
		return s, 0
	}
	if n > len(b.in)-b.at {
		b.fail(ErrTruncated)
		return s, 0
	}
	raw := b.in[b.at : b.at+n]
	b.at += n
	s.Off = uint32(len(b.Out))
	if huffman {
		n = b.decode(raw, room)
	} else if n <= room {
		b.reserve(n)
		b.Out = append(b.Out, raw...)
	}
	s.Len = uint32(len(b.Out)) - s.Off
	return s, n
}

// decode decodes a Huffman-coded string and returns its length. It stores the string in Out if the length is at most room.
func (b *Block) decode(raw []byte, room int) int {
	if maxDecoded(len(raw)) > room {
		n, err := decodedLen(raw)
		if err != nil {
			b.fail(err)
		}
		if n > room || err != nil {
			return n
		}
	}
	b.reserve(maxDecoded(len(raw)) + spare)
	mark := len(b.Out)
	out, err := appendDecoded(b.Out, raw)
	if err != nil {
		b.fail(err)
	}
	b.Out = out
	return len(out) - mark
}

// insert adds the field to the table. Its name is name, or the one that is stored in Out.
func (b *Block) insert(name string, nameLen, valueLen int) {
	t := &b.d.table
	e := entry{id: b.ID, pseudo: b.Pseudo, form: b.Form}
	switch {
	case !t.fits(nameLen, valueLen):
		t.clear()
	case name != "":
		add(t, name, b.bytes(b.Value), e)
	default:
		add(t, b.bytes(b.Name), b.bytes(b.Value), e)
	}
}

func (b *Block) bytes(s field.Span) []byte { return b.Out[s.Off : s.Off+s.Len] }
