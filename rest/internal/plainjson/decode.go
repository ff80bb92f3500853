package plainjson

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// What is decoded into is zero, but where a name comes twice. Then encoding/json merges, which it may do here.

func (p *plan) decodes(d *decoder, v reflect.Value) bool { return p.decode != nil && p.decode(d, v) }

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
	return d.null()
}

// short is how many digits fit into an int64, whatever they are.
const short = 18

func decodeInt(d *decoder, v reflect.Value) bool {
	if d.null() {
		return true
	}
	text, ok := d.number()
	if !ok {
		return false
	}
	digits, negative := text, text[0] == '-'
	if negative {
		digits = text[1:]
	}
	n, ok := natural(digits)
	if !ok {
		return false
	}
	value := int64(n)
	if negative {
		value = -value
	}
	if v.OverflowInt(value) {
		return false
	}
	v.SetInt(value)
	return true
}

func decodeUint(d *decoder, v reflect.Value) bool {
	if d.null() {
		return true
	}
	text, ok := d.number()
	if !ok {
		return false
	}
	n, ok := natural(text)
	if !ok || v.OverflowUint(n) {
		return false
	}
	v.SetUint(n)
	return true
}

func natural(digits []byte) (n uint64, ok bool) {
	if len(digits) > short {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, true
}

func decodeFloat(bits int) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		if d.null() {
			return true
		}
		text, ok := d.number()
		if !ok {
			return false
		}
		f, err := strconv.ParseFloat(string(text), bits)
		if err != nil {
			return false
		}
		v.SetFloat(f)
		return true
	}
}

func decodeString(d *decoder, v reflect.Value) bool {
	if d.peek() != '"' {
		return d.null()
	}
	b, ok := d.text()
	if ok {
		v.SetString(string(b))
	}
	return ok
}

func decodeTime(d *decoder, v reflect.Value) bool {
	if d.peek() != '"' {
		return d.null()
	}
	from := d.at + 1
	b, ok := d.text()
	if !ok || d.at != from+len(b)+1 { // with escapes, which encoding/json does not read
		return false
	}
	t, ok := v.Addr().Interface().(*time.Time)
	return ok && t.UnmarshalText(b) == nil
}

func decodeUnmarshaler(d *decoder, v reflect.Value) bool {
	d.space()
	from := d.at
	if !d.skip() {
		return false
	}
	u, ok := v.Addr().Interface().(json.Unmarshaler)
	return ok && u.UnmarshalJSON(d.data[from:d.at:d.at]) == nil
}

func decodeAny(d *decoder, v reflect.Value) bool {
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
		b, ok := d.text()
		return string(b), ok
	case 't':
		return true, d.is("true")
	case 'f':
		return false, d.is("false")
	case 'n':
		return nil, d.is("null")
	case '[':
		list := []any{}
		ok = d.elements(func() bool {
			one, ok := d.any()
			list = append(list, one)
			return ok
		})
		return list, ok
	case '{':
		object := map[string]any{}
		ok = d.members(func(name []byte) bool {
			key := string(name)
			one, ok := d.any()
			object[key] = one
			return ok
		})
		return object, ok
	}
	text, ok := d.number()
	if !ok {
		return nil, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

func decodePointer(of *plan) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		if d.null() {
			v.SetZero()
			return true
		}
		if !v.IsNil() {
			return false
		}
		p := reflect.New(v.Type().Elem())
		v.Set(p)
		return of.decodes(d, p.Elem())
	}
}

func decodeSlice(of *plan) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		if d.null() {
			v.SetZero()
			return true
		}
		if d.peek() != '[' || !v.IsNil() || of.decode == nil {
			return false
		}
		n := 0
		ok := d.elements(func() bool {
			if n == v.Cap() {
				v.Grow(1)
			}
			n++
			v.SetLen(n)
			return of.decode(d, v.Index(n-1))
		})
		if n == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		return ok
	}
}

func decodeMap(of *plan) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		if d.null() {
			v.SetZero()
			return true
		}
		if d.peek() != '{' || !v.IsNil() || of.decode == nil {
			return false
		}
		t := v.Type()
		v.Set(reflect.MakeMap(t))
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		return d.members(func(name []byte) bool {
			text := string(name)
			if value.SetZero(); !of.decode(d, value) {
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
		return d.null()
	}
	next := 0 // fields mostly come in order
	return d.members(func(name []byte) bool {
		var f *recordField
		if next < len(r.fields) && string(name) == r.fields[next].name {
			f = &r.fields[next]
		} else if f = r.field(name); f == nil {
			return d.skip()
		}
		next = f.next
		return f.plan.decodes(d, v.Field(f.index))
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
