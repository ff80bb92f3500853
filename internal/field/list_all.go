package field

// AddAll appends all fields of o in one step and reports true. AddAll does nothing and reports false if the fields of o
// are not stored as lines (see [List.Lines]), or if l already has one of their names.
func (l *List) AddAll(o *List) bool {
	lines, ok := o.Lines()
	if !ok || l.sharesName(o) {
		return false
	}
	l.detach(len(lines))
	start, n := len(l.own), len(l.fields)
	own := append(l.own, lines...)
	if l.lines == start {
		l.lines = len(own)
	}
	l.own, l.buf = own, own
	l.fields = append(l.fields, o.fields...)
	if n == 0 && start == 0 {
		l.seen, l.again, l.first = o.seen, o.again, o.first
		return true
	}
	for i := n; i < len(l.fields); i++ {
		f := &l.fields[i]
		f.NameOff += uint32(start)
		f.ValueOff += uint32(start)
		l.note(f.ID, i)
	}
	return true
}

// sharesName reports whether l has a field with the name of a field of o.
func (l *List) sharesName(o *List) bool {
	if len(l.fields) == 0 {
		return false
	}
	for i := range o.fields {
		f := &o.fields[i]
		switch {
		case f.ID != Unknown && l.Has(f.ID):
			return true
		case f.ID == Unknown && !l.HasNone(1<<Unknown) && next(l, 0, Unknown, o.name(f)) >= 0:
			return true
		}
	}
	return false
}
