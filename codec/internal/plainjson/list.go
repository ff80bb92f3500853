package plainjson

import "reflect"

// list is a slice that grows. A small one grows as append makes it. A large one grows in parts, which are put together
// at the end, in memory of exactly its size:
//
//	parts  [ 0 … a )[ a … b )     that are full
//	last                     [ b … c … )
//
// append copies all of it whenever a fourth is added, which allocates five times as much.
type list struct {
	slice  reflect.Value // what is made, once it is at its end
	parts  []reflect.Value
	before int           // how many elements the parts have
	last   reflect.Value // of which n are there
	n      int
	size   int // of an element
}

// maxAppended is how many bytes of elements append makes room for.
const maxAppended = 16 << 10

func newList(slice reflect.Value, size int) list {
	if !slice.IsNil() {
		slice.SetLen(0)
	}
	return list{slice: slice, last: slice, size: size}
}

func (l *list) len() int { return l.before + l.n }

// next returns the element behind the last one. It may have a value from before, as in encoding/json.
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

// end makes the slice what the list is.
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
