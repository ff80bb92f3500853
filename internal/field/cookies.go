package field

// JoinCookies joins several Cookie fields to one in the place of the first, with "; " between their values. HTTP/2
// clients may send each cookie in its own field, and handlers must see only one (RFC 9113 §8.2.3, RFC 6265 §5.4).
func (l *List) JoinCookies() {
	if !l.repeats(Cookie) {
		return
	}
	first := l.FindID(Cookie)
	var all []byte
	for i := first; i >= 0; i = next(l, i+1, Cookie, "") {
		if value := l.Value(i); len(value) > 0 {
			if len(all) > 0 {
				all = append(all, "; "...)
			}
			all = append(all, value...)
		}
	}
	Set(l, Cookie, l.name(&l.fields[first]), all)
}

// MayRepeat reports whether some known ID may have more than one field. It costs nothing, unlike a search for the fields.
func (l *List) MayRepeat() bool { return l.again }

// repeats reports whether there is more than one field with this known ID.
func (l *List) repeats(id ID) bool {
	if first := int(l.first[id]); first > 0 {
		for i := first; i < len(l.fields); i++ {
			if l.fields[i].ID == id {
				return true
			}
		}
	}
	return false
}

// JoinBorrowedCookies joins Cookie fields as JoinCookies does, in a list that borrows b. It appends the joined value to b and
// returns the longer slice, which the list then borrows.
func (l *List) JoinBorrowedCookies(b []byte) []byte {
	first := l.FindID(Cookie)
	if first < 0 || !l.repeats(Cookie) {
		return b
	}
	start := len(b)
	for i := first; i >= 0; i = next(l, i+1, Cookie, "") {
		if f := &l.fields[i]; f.ValueLen > 0 {
			if len(b) > start {
				b = append(b, "; "...)
			}
			b = append(b, b[f.ValueOff:f.ValueOff+f.ValueLen]...)
		}
	}
	l.Rebase(b)
	f := &l.fields[first]
	f.ValueOff, f.ValueLen = uint32(start), uint32(len(b)-start)
	if j := next(l, first+1, Cookie, ""); j >= 0 {
		del(l, j, Cookie, "")
	}
	return b
}
