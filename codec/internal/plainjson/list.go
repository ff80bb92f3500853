package plainjson

import "reflect"

// list is a slice that grows. A small one grows like with append. A large one grows in parts, which are joined at the
// end in memory of the exact size:
//
//	parts  [ 0 … a )[ a … b )     that are full
//	last                     [ b … c … )
//
// append would copy everything each time it adds a quarter, and allocate five times as much memory.
type list struct {
	slice  reflect.Value // result, set at the end
	parts  []reflect.Value
	before int           // number of elements in parts
	last   reflect.Value // n of its elements are in use
	n      int
	size   int // size of an element in bytes
}

// maxAppended is the maximum size in bytes up to which the slice grows with append.
const maxAppended = 16 << 10

func newList(slice reflect.Value, size int) list {
	if !slice.IsNil() {
		slice.SetLen(0)
	}
	return list{slice: slice, last: slice, size: size}
}

func (l *list) len() int { return l.before + l.n }

// next returns the element after the last one. As with encoding/json, it may contain an old value.
func (l *list) next() reflect.Value {
	if l.n == l.last.Cap() {
		l.grow()
	}
	l.n++
	l.last.SetLen(l.n)
	return l.last.Index(l.n - 1)
}

func (l *list) grow() {
	if l.len()*l.size < maxAppended {
		l.last.Grow(1)
		return
	}
	l.parts = append(l.parts, l.last)
	l.before += l.n
	l.last, l.n = reflect.New(l.slice.Type()).Elem(), 0
	l.last.Grow(max(l.before/8, 1))
}

// end stores the list in the slice.
func (l *list) end() {
	switch {
	case l.len() == 0:
		l.slice.Set(reflect.MakeSlice(l.slice.Type(), 0, 0))
	case len(l.parts) > 0:
		all := reflect.MakeSlice(l.slice.Type(), l.len(), l.len())
		at := 0
		for _, part := range append(l.parts, l.last) {
			at += reflect.Copy(all.Slice(at, l.len()), part)
		}
		l.slice.Set(all)
	}
}
