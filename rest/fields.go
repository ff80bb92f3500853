package rest

import (
	"iter"
	"slices"
	"strings"
)

// fields are names with values: headers, parameters, cookies. Those with the same name
// stand together, in the place of the first:
//
//	names   Accept  Foo  Foo  Bar
//	values  a/b     1    2    x
//
// so that the values of a name are a slice of values, and iterating allocates nothing.
type fields struct {
	names, values []string // of equal length
}

// roomFor returns no fields, with memory for n.
func roomFor(n int) fields {
	room := make([]string, 2*n)
	return fields{room[:0:n], room[n : n : 2*n]}
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
	f.names[from], f.values[from] = name, value
	f.names = slices.Delete(f.names, from+1, to)
	f.values = slices.Delete(f.values, from+1, to)
}

func (f *fields) del(name string, same equal) {
	from, to := f.find(name, same)
	f.names = slices.Delete(f.names, from, to)
	f.values = slices.Delete(f.values, from, to)
}

func (f *fields) clone() fields {
	return fields{slices.Clone(f.names), slices.Clone(f.values)}
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

// eachOne calls yield with every name and its only value.
func (f *fields) eachOne(yield func(string, string) bool) {
	for i, name := range f.names {
		if !yield(name, f.values[i]) {
			return
		}
	}
}

// Headers returns an iterator over the header fields that were set: each name once, as
// it was written first, in the order in which they came, with all its values. Those that
// the client adds when it sends the request are not among them.
//
// This and the other iterators of a Request allocate nothing. The strings are the caller's
// for ever; the slice holds until the request is changed, and must not be.
func (r *Request) Headers() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) { r.headers.each(foldName, yield) }
}

// Query returns an iterator over the query parameters that were set, as Headers does.
// A query that is part of the path is not looked into.
func (r *Request) Query() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) { r.query.each(sameName, yield) }
}

// Form returns an iterator over the fields of the form, as Headers does.
func (r *Request) Form() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) { r.form.each(sameName, yield) }
}

// Cookies returns an iterator over names and values of the cookies, as Headers does.
func (r *Request) Cookies() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { r.cookies.eachOne(yield) }
}

// PathValues returns an iterator over names and values of the parts of the path, as
// Headers does.
func (r *Request) PathValues() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { r.params.eachOne(yield) }
}
