// Package plainjson encodes and decodes what most of JSON is: structs, slices, maps, pointers, texts, numbers and
// times, by the rules of encoding/json and several times as fast.
//
// Texts that are in memory whole go the straight way only. If a type has rules of its own or a text is wrong in any way, the package
// says no, and the caller asks encoding/json. So all errors are encoding/json's. Values that are decoded here are exactly
// those that encoding/json decodes; the tests compare millions of them.
//
// Texts that come as a stream cannot be read again from the beginning. The package then gives encoding/json single values, and has it say
// what is wrong with a text.
//
//	plain.go    entry points for texts in memory
//	stream.go   the entry point for streams
//	types.go    what a type is made of, found out once
//	encode.go   values to text
//	decode.go   text to values; scan.go has the tokens
//	any.go      text to values of any type
//	list.go     slices that grow; pile.go lists made in their final size; whole.go long texts in one piece
//	names.go    names that come again; share.go small values that share memory
//	quote.go    strings both ways
//	number.go   numbers
package plainjson

import "reflect"

// maxDepth is how deep values are followed. encoding/json goes further, and finds cycles.
const maxDepth = 1000

// Append appends the JSON text of v to dst. If html is true, it escapes <, > and & in strings, as json.Marshal does. If
// the package cannot encode v, ok is false and dst is unchanged. grow may be nil. It is called when dst needs room for n
// more bytes, and returns dst with that room.
func Append(dst []byte, v any, html bool, grow func(dst []byte, n int) []byte) (text []byte, ok bool) {
	value := reflect.ValueOf(v)
	if !value.IsValid() {
		return append(dst, "null"...), true
	}
	p := planOf(value.Type())
	if p.encode == nil {
		return dst, false
	}
	e := encoders.Get().(*encoder)
	*e = encoder{b: dst, grow: grow, html: html}
	ok = p.encode(e, value)
	text = e.b
	*e = encoder{}
	encoders.Put(e)
	if !ok {
		return text[:len(dst)], false
	}
	return text, true
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
