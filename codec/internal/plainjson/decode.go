package plainjson

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Values need not be zero before they are decoded: a name may come twice, and a stream goes into any value. encoding/json merges
// then, and so do these functions.

func (p *plan) decodes(d *decoder, v reflect.Value) bool {
	if p.decode == nil {
		return d.other(v)
	}
	return p.decode(d, v)
}

// null reports whether there is null, which leaves most values as they are, and passes over it.
func (d *decoder) null() bool { return d.peek() == 'n' && d.is("null") }

func decodeBool(d *decoder, v reflect.Value) bool {
	switch d.peek() {
	case 't':
		v.SetBool(true)
		return d.is("true")
	case 'f':
		v.SetBool(false)
		return d.is("false")
	}
	return d.null() || d.mistyped(v)
}

// short is how many digits fit into an int64, whatever they are.
const short = 18

// longest is how many digits a uint64 has at most.
const longest = 20

func decodeInt(d *decoder, v reflect.Value) bool {
	if d.null() {
		return true
	}
	text, ok := d.number()
	if !ok {
		return d.mistyped(v)
	}
	n, ok := integer(text)
	if !ok || v.OverflowInt(n) {
		return d.mistypedNumber(text, v)
	}
	v.SetInt(n)
	return true
}

func decodeUint(d *decoder, v reflect.Value) bool {
	if d.null() {
		return true
	}
	text, ok := d.number()
	if !ok {
		return d.mistyped(v)
	}
	n, ok := natural(text)
	if !ok || v.OverflowUint(n) {
		return d.mistypedNumber(text, v)
	}
	v.SetUint(n)
	return true
}

// integer reads a number that is an int64.
func integer(text []byte) (n int64, ok bool) {
	if text[0] != '-' {
		absolute, ok := natural(text)
		return int64(absolute), ok && absolute <= math.MaxInt64
	}
	absolute, ok := natural(text[1:])
	return -int64(absolute), ok && absolute <= -math.MinInt64
}

// natural reads digits that are a uint64.
func natural(digits []byte) (n uint64, ok bool) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	if len(digits) <= short {
		return n, true
	}
	n, err := strconv.ParseUint(string(digits[:min(len(digits), longest+1)]), 10, 64)
	return n, err == nil
}

func decodeFloat(bits int) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		if d.null() {
			return true
		}
		text, ok := d.number()
		if !ok {
			return d.mistyped(v)
		}
		f, err := strconv.ParseFloat(string(text), bits)
		if err != nil {
			return d.mistypedNumber(text, v)
		}
		v.SetFloat(f)
		return true
	}
}

func decodeString(d *decoder, v reflect.Value) bool {
	if d.peek() != '"' {
		return d.null() || d.mistyped(v)
	}
	text, ok := d.string()
	if ok {
		v.SetString(text)
	}
	return ok
}

// string is text for a string that is kept.
func (d *decoder) string() (text string, ok bool) {
	b, ok := d.text()
	if len(b) >= chunkSize && d.whole.gives(b) {
		return asString(b), ok
	}
	return string(b), ok
}

func decodeTime(d *decoder, v reflect.Value) bool {
	text, ok := d.raw()
	if !ok {
		return false
	}
	t, ok := v.Addr().Interface().(*time.Time)
	return ok && d.took(text, t.UnmarshalJSON(text))
}

func decodeUnmarshaler(d *decoder, v reflect.Value) bool {
	text, ok := d.raw()
	if !ok {
		return false
	}
	u, ok := v.Addr().Interface().(json.Unmarshaler)
	return ok && d.took(text, u.UnmarshalJSON(text))
}

func decodeRaw(d *decoder, v reflect.Value) bool {
	text, ok := d.raw()
	if !ok {
		return false
	}
	if !d.whole.gives(text) {
		text = append(v.Bytes()[:0], text...)
	}
	v.SetBytes(text)
	return true
}

func decodeAny(d *decoder, v reflect.Value) bool {
	if !v.IsNil() && v.Elem().Kind() == reflect.Pointer {
		return d.other(v)
	}
	value, ok := d.any()
	if !ok {
		return false
	}
	if value == nil {
		v.SetZero()
		return true
	}
	v.Set(reflect.ValueOf(value))
	return true
}

// any reads a value as what it is.
func (d *decoder) any() (v any, ok bool) {
	switch d.peek() {
	case '"':
		return d.anyString()
	case 't':
		return true, d.is("true")
	case 'f':
		return false, d.is("false")
	case 'n':
		return nil, d.is("null")
	case '[':
		return d.anyList()
	case '{':
		object := map[string]any{}
		ok = d.members((*decoder).name, func(name []byte) bool {
			key := d.names.same(name)
			one, ok := d.any()
			object[key] = one
			return ok
		})
		return object, ok
	}
	return d.anyNumber()
}

func (d *decoder) anyNumber() (any, bool) {
	text, ok := d.number()
	if !ok {
		return nil, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return nil, d.mistypedNumber(text, reflect.New(anyType).Elem())
	}
	return f, true
}

// anyList reads a list. Its elements are put on a stack until their number is known, in parts if there are many.
func (d *decoder) anyList() (any, bool) {
	const many = 1024
	var parts [][]any
	base := len(d.stack)
	ok := d.elements(func() bool {
		one, ok := d.any()
		if d.stack = append(d.stack, one); len(d.stack)-base == many {
			parts = append(parts, d.pop(base))
		}
		return ok
	})
	list := d.pop(base)
	if parts != nil {
		list = slices.Concat(append(parts, list)...)
	}
	return list, ok
}

// pop takes what is on the stack from base on.
func (d *decoder) pop(base int) []any {
	list := make([]any, len(d.stack)-base)
	copy(list, d.stack[base:])
	clear(d.stack[base:])
	d.stack = d.stack[:base]
	return list
}

func (d *decoder) anyString() (any, bool) { return d.string() }

func decodePointer(of *plan) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		if d.null() {
			v.SetZero()
			return true
		}
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return of.decodes(d, v.Elem())
	}
}

func decodeSlice(of *plan) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		if d.peek() != '[' {
			if d.null() {
				v.SetZero()
				return true
			}
			return d.mistyped(v)
		}
		l := newList(v)
		outermost := d.depth == 0
		ok := d.elements(func() bool {
			ok := of.decodes(d, l.next())
			if outermost {
				d.inElement(l.len()-1, ok)
			}
			return ok
		})
		l.end()
		return ok
	}
}

func decodeMap(of *plan) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		if d.peek() != '{' {
			if d.null() {
				v.SetZero()
				return true
			}
			return d.mistyped(v)
		}
		t := v.Type()
		if v.IsNil() {
			v.Set(reflect.MakeMap(t))
		}
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		return d.members((*decoder).name, func(name []byte) bool {
			text := d.names.same(name)
			if value.SetZero(); !of.decodes(d, value) {
				return false
			}
			key.SetString(text)
			v.SetMapIndex(key, value)
			return true
		})
	}
}

func (r *record) decode(d *decoder, v reflect.Value) bool {
	if d.peek() != '{' {
		return d.null() || d.mistyped(v)
	}
	next := 0 // fields mostly come in order
	return d.members((*decoder).name, func(name []byte) bool {
		var f *recordField
		if next < len(r.fields) && string(name) == r.fields[next].name {
			f = &r.fields[next]
		} else if f = r.field(name); f == nil {
			return d.unknown(name)
		}
		next = f.next
		ok := f.plan.decodes(d, v.Field(f.index))
		if d.wrong == d.depth {
			d.s.inField(d, v.Type().Name(), f.name)
		}
		return ok
	})
}

// field returns the field with the name, or one that it folds to, nil if there is none.
func (r *record) field(name []byte) *recordField {
	if f := r.exact[string(name)]; f != nil {
		return f
	}
	var room [64]byte
	lower := room[:0]
	for _, c := range name {
		switch {
		case c >= utf8.RuneSelf || len(lower) == len(room):
			return r.slowly(string(name))
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		lower = append(lower, c)
	}
	return r.folded[string(lower)]
}

// slowly is field for names that are long, or not of ASCII: there are letters that fold to one of it.
func (r *record) slowly(name string) *recordField {
	for i := range r.fields {
		if strings.EqualFold(r.fields[i].name, name) {
			return &r.fields[i]
		}
	}
	return nil
}
