// Package plainjson encodes and decodes what most of JSON is: structs, slices, maps, pointers, texts, numbers and
// times, by the rules of encoding/json and several times as fast.
//
// It takes the straight way only. A type with rules of its own, a text that is wrong in any way, a value that
// would have to be merged into another: it says no, and the caller asks encoding/json, which has the last word
// about all of them and whose errors are the only ones. What it accepts is exactly what encoding/json makes
// of it; the tests compare millions of values.
//
//	plain.go    entry points
//	types.go    what a type is made of, found out once
//	encode.go   values to text
//	decode.go   text to values; scan.go has the tokens
//	quote.go    strings both ways
package plainjson

import "reflect"

// maxDepth is how deep values are followed. encoding/json goes further, and finds cycles.
const maxDepth = 1000

// Append appends the text of v to dst, as encoding/json has it without escapes for HTML. If it cannot, ok
// is false and dst is as it was. grow is called for room for n more bytes and returns dst with them; it may be nil.
func Append(dst []byte, v any, grow func(dst []byte, n int) []byte) (text []byte, ok bool) {
	value := reflect.ValueOf(v)
	if !value.IsValid() {
		return append(dst, "null"...), true
	}
	p := planOf(value.Type())
	if p.encode == nil {
		return dst, false
	}
	e := encoder{b: dst, grow: grow}
	if !p.encode(&e, value) {
		return e.b[:len(dst)], false
	}
	return e.b, true
}

// Decode makes the value that v points to, which is zero, what data says. If it cannot, or if that
// value is not zero, it returns false and leaves it as it was. Nothing in v is a view of data.
func Decode(data []byte, v any) bool {
	pointer := reflect.ValueOf(v)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() {
		return false
	}
	value := pointer.Elem()
	p := planOf(value.Type())
	if p.decode == nil || !value.IsZero() {
		return false
	}
	d := newDecoder(data)
	defer d.release()
	if d.space(); d.at < len(data) && p.decode(d, value) {
		if d.space(); d.at == len(data) {
			return true
		}
	}
	value.SetZero()
	return false
}

// IsPlain reports whether values of a type may be decoded here.
func IsPlain(t reflect.Type) bool { return planOf(t).decode != nil }

// Element makes v, which is zero, what the next element of a list in data says, up to the comma or bracket
// behind it, which has to be there, at n. If it cannot, v is zero again; there may just be too little data.
func Element(data []byte, v reflect.Value) (n int, ok bool) {
	d := newDecoder(data)
	defer d.release()
	d.space()
	if planOf(v.Type()).decodes(d, v) {
		if c := d.peek(); c == ',' || c == ']' {
			return d.at, true
		}
	}
	v.SetZero()
	return 0, false
}
