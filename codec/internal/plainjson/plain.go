// Package plainjson encodes and decodes the common part of JSON: structs, slices, maps, pointers, strings, numbers
// and times. It follows the rules of encoding/json and is several times as fast.
//
// [Append] and [Decode] work on texts in memory and only take a fast path. If a type has its own rules or a text is
// invalid, they report false, and the caller uses encoding/json instead. So all errors come from encoding/json, and
// decoded values equal those that encoding/json decodes; the tests compare millions of them.
//
// [DecodeFrom] decodes a stream, which cannot be read again from the beginning. It passes single values to
// encoding/json, and lets encoding/json describe errors.
//
//	plain.go    entry points for texts in memory
//	stream.go   entry point for streams
//	types.go    how a type is encoded and decoded, computed once
//	encode.go   values to text
//	decode.go   text to values; scan.go has the tokens
//	any.go      text to values of any type
//	list.go     slices that grow; pile.go lists made in their final size; whole.go long texts in one piece
//	names.go    repeated names; share.go small values that share memory
//	quote.go    strings in both directions
//	number.go   numbers
package plainjson

import "reflect"

// maxDepth is the maximum depth of nested values. encoding/json follows deeper values and detects cycles.
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

// Decode decodes data into the value that v points to, which must be zero. If that is not possible, or the value is
// not zero, it returns false and leaves the value unchanged. Nothing in v is a view of data.
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
