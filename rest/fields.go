package rest

import (
	"iter"
	"slices"
	"strings"
	"sync/atomic"
)

// fields are names with values: headers, parameters, cookies. Those with the same name
// stand together, in the place of the first:
//
//	names   Accept  Foo  Foo  Bar
//	values  a/b     1    2    x
//
// so that the values of a name are a slice of values, and iterating allocates nothing.
// While a loop runs over them, setters change a copy, so that the loop sees what it began with.
type fields struct {
	names, values []string // of equal length
	loops         int32    // how many loops run over them, atomic since several goroutines may read
}

// roomFor returns no fields, with memory for n.
func roomFor(n int) fields {
	room := make([]string, 2*n)
	return fields{names: room[:0:n], values: room[n : n : 2*n]}
}

// own makes sure that a change is not seen by the loops that run.
func (f *fields) own() {
	if atomic.LoadInt32(&f.loops) > 0 {
		f.names, f.values = slices.Clone(f.names), slices.Clone(f.values)
	}
}

// equal is how names are compared: header fields fold, the others do not.
type equal func(a, b string) bool

func sameName(a, b string) bool { return a == b }

func foldName(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

// find returns where the values of a name begin and end.
func (f *fields) find(name string, same equal) (from, to int) {
	for i, n := range f.names {
		if same(n, name) {
			return i, f.end(i, same)
		}
	}
	return len(f.names), len(f.names)
}

// end returns where the values of the name at i end.
func (f *fields) end(i int, same equal) int {
	to := i + 1
	for to < len(f.names) && same(f.names[to], f.names[i]) {
		to++
	}
	return to
}

func (f *fields) get(name string, same equal) (value string, ok bool) {
	from, to := f.find(name, same)
	if from == to {
		return "", false
	}
	return f.values[from], true
}

// lines returns the values of all header fields with the name.
func (f *fields) lines(name string) []string {
	from, to := f.find(name, foldName)
	return f.values[from:to]
}

// add puts a value behind the others of the name.
func (f *fields) add(name, value string, same equal) {
	f.own()
	from, to := f.find(name, same)
	if from < to {
		name = f.names[from]
	}
	if f.names == nil {
		f.names, f.values = make([]string, 0, 4), make([]string, 0, 4)
	}
	f.names = slices.Insert(f.names, to, name)
	f.values = slices.Insert(f.values, to, value)
}

// set makes value the only one of the name, which keeps its place.
func (f *fields) set(name, value string, same equal) {
	from, to := f.find(name, same)
	if from == to {
		f.add(name, value, same)
		return
	}
	f.own()
	f.names[from], f.values[from] = name, value
	f.names = slices.Delete(f.names, from+1, to)
	f.values = slices.Delete(f.values, from+1, to)
}

func (f *fields) del(name string, same equal) {
	f.own()
	from, to := f.find(name, same)
	f.names = slices.Delete(f.names, from, to)
	f.values = slices.Delete(f.values, from, to)
}

func (f *fields) clone() fields {
	return fields{names: slices.Clone(f.names), values: slices.Clone(f.values)}
}

// each calls yield with every name, once, and its values.
func (f *fields) each(same equal, yield func(string, []string) bool) {
	for i := 0; i < len(f.names); {
		to := f.end(i, same)
		if !yield(f.names[i], f.values[i:to:to]) {
			return
		}
		i = to
	}
}

// loop is each for loops that may call setters: yield gets the fields as they were when it began.
func (f *fields) loop(same equal, yield func(string, []string) bool) {
	atomic.AddInt32(&f.loops, 1)
	defer atomic.AddInt32(&f.loops, -1)
	seen := fields{names: f.names, values: f.values}
	seen.each(same, yield)
}

// loopOnes is loop for names that have one value each.
func (f *fields) loopOnes(yield func(string, string) bool) {
	f.loop(sameName, func(name string, values []string) bool { return yield(name, values[0]) })
}

// Headers returns an iterator over the headers that were set. The iterator yields each name once, with all values of
// the name. The order of the names is the order in which they were first added. If a header was added in several
// spellings, the iterator yields the first spelling. The iterator does not yield headers that the client adds when it
// sends the request.
//
// The body of the loop may call any setter of the request. A change that the body of a loop makes is visible only in
// later loops. A loop without changes allocates no memory.
//
// The strings remain valid forever. The slice of values stays valid until the first change to the request after the
// loop. Do not modify the slice. The other iterators of a Request follow the same rules.
func (r *Request) Headers() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) { r.headers.loop(foldName, yield) }
}

// Query returns an iterator over the query parameters that were set. Parameters in the path are not included. See
// [Request.Headers] for the iterator's rules.
func (r *Request) Query() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) { r.query.loop(sameName, yield) }
}

// Form returns an iterator over the fields of the form. See [Request.Headers] for the iterator's rules.
func (r *Request) Form() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) { r.form.loop(sameName, yield) }
}

// Cookies returns an iterator over the names and values of the cookies. See [Request.Headers] for the iterator's rules.
func (r *Request) Cookies() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { r.cookies.loopOnes(yield) }
}

// PathValues returns an iterator over the names and values of the path parameters that were set. See [Request.Headers]
// for the iterator's rules.
func (r *Request) PathValues() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { r.params.loopOnes(yield) }
}
