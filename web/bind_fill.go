package web

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"sync"
)

// filler fills one struct from one request.
type filler struct {
	c       *Ctx
	scopes  [sourceCount]scope
	entries []entry // the entries of all scopes
	names   []byte  // memory for names that dotted rewrites
}

var fillers = sync.Pool{New: func() any { return new(filler) }}

// release clears the filler and returns it to the pool, unless it has grown large.
func (f *filler) release() {
	if cap(f.entries) > 256 || cap(f.names) > 4096 {
		return
	}
	clear(f.entries)
	*f = filler{entries: f.entries[:0], names: f.names[:0]}
	fillers.Put(f)
}

// fillStruct fills the fields of a struct from scopes. The first scope that has a value for a field wins. found reports whether one
// of the fields got a value. absent says that the request has nothing for the struct, so that its fields are not required.
func (f *filler) fillStruct(p *plan, v reflect.Value, scopes []scope, absent bool) (found bool, err error) {
	for i := range p.fields {
		ok, err := f.fillField(&p.fields[i], v, scopes, absent)
		if err != nil {
			return false, err
		}
		found = found || ok
	}
	return found, nil
}

// fillField fills a field from the first scope that has a value for it.
func (f *filler) fillField(fd *field, v reflect.Value, scopes []scope, absent bool) (found bool, err error) {
	var first *scope
	for i := range scopes {
		s := &scopes[i]
		name := fd.names[s.source]
		if name == "" {
			continue
		}
		if found, err = f.fillFrom(fd, v, s, name); found || err != nil {
			return found, within(err, s.source, name)
		}
		if first == nil {
			first = s
		}
	}
	if first == nil { // no tag for these sources
		return false, nil
	}
	return false, within(f.fillAbsent(fd, v, first.source, absent), first.source, fd.names[first.source])
}

// fillFrom fills a field from a scope.
func (f *filler) fillFrom(fd *field, v reflect.Value, s *scope, name string) (found bool, err error) {
	entries := s.entries
	if !s.source.nests() {
		entries = f.gatherField(fd, s.source, name)
	}
	if fd.shape.kind == leafShape {
		if e := find(entries, name, fd.shape.empty && !fd.required); e != nil {
			return true, fd.shape.setTo(fieldAt(v, fd.index), e.value)
		}
		return false, nil
	}
	entries = below(entries, name)
	if fd.comma && s.source != headerSource { // gatherField has split headers already
		if entries, err = f.split(entries, s.source); err != nil {
			return false, err
		}
	}
	if len(entries) == 0 {
		return false, nil
	}
	return f.fill(fd.shape, fieldAt(v, fd.index), scope{s.source, entries})
}

// split returns an entry for each member of values that are lists. An empty value has no members. Values whose name has more parts,
// such as numbered elements, are not split.
func (f *filler) split(entries []entry, s source) ([]entry, error) {
	start, limit := len(f.entries), f.c.maxArgs()
	for _, e := range entries {
		if len(e.name) > 0 || e.file != nil {
			f.entries = append(f.entries, e)
			continue
		}
		for rest, more := e.value, len(e.value) > 0; more; {
			if limit > 0 && len(f.entries)-start >= limit {
				return nil, tooManyEntries(s)
			}
			e.value, rest, more = bytes.Cut(rest, []byte(","))
			f.entries = append(f.entries, e)
		}
	}
	return f.entries[start:], nil
}

// fillAbsent handles a field for which the request has no value: it sets the default, or returns an error if a value is required.
func (f *filler) fillAbsent(fd *field, v reflect.Value, s source, absent bool) error {
	if target, ok := fieldIfThere(v, fd.index); ok && !target.IsZero() {
		return nil
	}
	switch {
	case fd.otherwise != "":
		return fd.shape.fromText(fieldAt(v, fd.index), []byte(fd.otherwise))
	case fd.required && !absent:
		return &BindError{Err: errMissing, reason: "is missing"}
	case fd.shape.kind == structShape && fd.shape.plan.err == nil:
		_, err := f.fillStruct(fd.shape.plan, fieldAt(v, fd.index), []scope{{source: s}}, true)
		return err
	}
	return nil
}

// fill sets v, whose type has the shape s, from a scope.
func (f *filler) fill(s *shape, v reflect.Value, from scope) (found bool, err error) {
	switch s.kind {
	case leafShape:
		if e := find(from.entries, "", s.empty); e != nil {
			return true, s.setTo(v, e.value)
		}
	case fileShape:
		for i := range from.entries {
			if e := &from.entries[i]; e.file != nil && len(e.name) == 0 {
				v.Set(reflect.ValueOf(e.file))
				return true, nil
			}
		}
	case pointerShape:
		target := v
		if v.IsNil() {
			target = reflect.New(s.elem.t)
		}
		if found, err = f.fill(s.elem, target.Elem(), from); found {
			v.Set(target)
		}
		return found, err
	case listShape:
		return f.fillList(s, v, from)
	case tableShape:
		return f.fillTable(s, v, from)
	case structShape:
		if s.plan.err != nil { // shape could not see it: a recursive type was incomplete then
			return false, s.plan.err
		}
		return f.fillStruct(s.plan, v, []scope{from}, false)
	}
	return false, nil
}

// fillList sets a slice. Each entry without a number is an element; these elements come first.
func (f *filler) fillList(s *shape, v reflect.Value, from scope) (found bool, err error) {
	items := numbered(from.entries)
	list := reflect.MakeSlice(s.t, len(items), len(items))
	n := 0
	for len(items) > 0 {
		end := 1
		for items[0].number >= 0 && end < len(items) && items[end].number == items[0].number {
			end++
		}
		entries := make([]entry, end)
		for i := range entries {
			entries[i] = items[i].entry
		}
		ok, err := f.fill(s.elem, list.Index(n), scope{from.source, entries})
		if err != nil {
			return false, within(err, from.source, strconv.Itoa(n))
		}
		if ok {
			n++
		}
		items = items[end:]
	}
	if n > 0 {
		v.Set(list.Slice(0, n))
	}
	return n > 0, nil
}

// numberedEntry is an entry of an element of a list.
type numberedEntry struct {
	number int // the number of the element, or -1 if it has none
	entry
}

// numbered returns the entries of elements, ordered by number. It leaves out entries whose name begins with something else.
func numbered(entries []entry) (list []numberedEntry) {
	for _, e := range entries {
		first, rest, _ := bytes.Cut(e.name, []byte("."))
		number := -1
		if len(first) > 0 {
			n, ok := parseInt(first)
			if !ok || n < 0 || n > 1<<30 {
				continue
			}
			number = int(n)
		}
		e.name = rest
		list = append(list, numberedEntry{number, e})
	}
	slices.SortStableFunc(list, func(a, b numberedEntry) int { return cmp.Compare(a.number, b.number) })
	return list
}

// fillTable adds elements to a map. It makes the map if it is nil.
func (f *filler) fillTable(s *shape, v reflect.Value, from scope) (found bool, err error) {
	entries := slices.Clone(from.entries)
	slices.SortStableFunc(entries, func(a, b entry) int { return bytes.Compare(firstPart(a.name), firstPart(b.name)) })
	for len(entries) > 0 {
		key := firstPart(entries[0].name)
		end := 0
		for end < len(entries) && bytes.Equal(firstPart(entries[end].name), key) {
			_, entries[end].name, _ = bytes.Cut(entries[end].name, []byte("."))
			end++
		}
		if len(key) > 0 {
			value := reflect.New(s.elem.t).Elem()
			ok, err := f.fill(s.elem, value, scope{from.source, entries[:end]})
			if err != nil {
				return false, err
			}
			if ok {
				if v.IsNil() {
					v.Set(reflect.MakeMap(s.t))
				}
				v.SetMapIndex(reflect.ValueOf(string(key)).Convert(s.t.Key()), value)
			}
			found = found || ok
		}
		entries = entries[end:]
	}
	return found, nil
}

func firstPart(name []byte) []byte {
	first, _, _ := bytes.Cut(name, []byte("."))
	return first
}

// find returns the first entry with this name that can set a leaf, or nil. empty says that its value may be empty.
func find(entries []entry, name string, empty bool) *entry {
	for i := range entries {
		if e := &entries[i]; string(e.name) == name && e.file == nil && (empty || len(e.value) > 0) {
			return e
		}
	}
	return nil
}

// setTo sets a leaf from text. The error is a *BindError.
func (s *shape) setTo(v reflect.Value, text []byte) error {
	err := s.set(v, text)
	if err == nil {
		return nil
	}
	e := &BindError{Value: string(text[:min(len(text), maxErrorValue)]), Err: err}
	var wrong *valueError
	if errors.As(err, &wrong) {
		e.Err, e.reason = wrong.err, wrong.reason
	}
	return e
}

// fromText sets v from the text of the tag default. Commas separate the members of a list.
func (s *shape) fromText(v reflect.Value, text []byte) error {
	switch s.kind {
	case leafShape:
		return s.setTo(v, text)
	case pointerShape:
		target := reflect.New(s.elem.t)
		v.Set(target)
		return s.elem.fromText(target.Elem(), text)
	case listShape:
		members := bytes.Split(text, []byte(","))
		v.Set(reflect.MakeSlice(s.t, len(members), len(members)))
		for i, member := range members {
			if err := s.elem.fromText(v.Index(i), member); err != nil {
				return err
			}
		}
		return nil
	}
	return errShape(s.t)
}

// below returns the entries with this name and those of its parts, without the name.
func below(entries []entry, name string) (list []entry) {
	for _, e := range entries {
		if len(e.name) < len(name) || string(e.name[:len(name)]) != name {
			continue
		}
		if e.name = e.name[len(name):]; len(e.name) > 0 {
			if e.name[0] != '.' {
				continue
			}
			e.name = e.name[1:]
		}
		list = append(list, e)
	}
	return list
}

// within adds the source and the name to a BindError in err. err may be nil.
func within(err error, s source, name string) error {
	if err == nil {
		return nil
	}
	var e *BindError
	if errors.As(err, &e) {
		if e.Source = sourceNames[s]; e.Field != "" {
			name += "." + e.Field
		}
		e.Field = name
	}
	return err
}

// fieldAt returns a field. It allocates the embedded structs on the way to it if their pointers are nil.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

// fieldIfThere returns a field without allocating. ok is false if the pointer to an embedded struct is nil.
func fieldIfThere(v reflect.Value, index []int) (field reflect.Value, ok bool) {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}
