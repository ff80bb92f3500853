package field

// A List stores an added field as the line that HTTP/1 sends. While fields are only added, the storage is therefore
// the whole field section, and writing it is one copy.

// AppendLines appends the fields to dst as lines, in order, except those whose ID is in skip.
func (l *List) AppendLines(dst []byte, skip IDs) []byte {
	lines, ok := l.Lines()
	if !ok {
		return l.appendEach(dst, skip)
	}
	if l.HasNone(skip) {
		return append(dst, lines...)
	}
	from := 0 // lines[from:] are still to be appended
	fields := l.fields
	for i := range fields {
		if f := &fields[i]; skip.has(f.ID) {
			dst = append(dst, lines[from:f.NameOff]...)
			from = int(f.ValueOff+f.ValueLen) + len("\r\n")
		}
	}
	return append(dst, lines[from:]...)
}

// appendEach is AppendLines for fields that are stored in any way.
func (l *List) appendEach(dst []byte, skip IDs) []byte {
	for i := range l.fields {
		if f := &l.fields[i]; !skip.has(f.ID) {
			dst = append(append(dst, l.name(f)...), ':', ' ')
			dst = append(append(dst, l.value(f)...), '\r', '\n')
		}
	}
	return dst
}
