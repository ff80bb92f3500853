package plainjson

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Values need not be zero before they are decoded, because a name may occur twice and a stream decodes into any
// value. encoding/json merges in these cases, and so do these functions.

func (p *plan) decodes(d *decoder, v reflect.Value) bool {
	if p.decode == nil {
		return d.other(v)
	}
	return p.decode(d, v)
}

// The functions that decode a value are called at its first byte.

// null consumes null, which leaves most values unchanged, and reports whether it was there.
func (d *decoder) null() bool { return d.first() == 'n' && d.is("null") }

func decodeBool(d *decoder, v reflect.Value) bool {
	switch d.first() {
	case 't':
		v.SetBool(true)
		return d.is("true")
	case 'f':
		v.SetBool(false)
		return d.is("false")
	}
	return d.null() || d.mistyped(v)
}

func decodeInt(d *decoder, v reflect.Value) bool {
	if n, size := shortInt(d.data, d.at); size > 0 && !v.OverflowInt(n) {
		d.at += size
		v.SetInt(n)
		return true
	}
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
	if n, size := shortNatural(d.data, d.at); size > 0 && !v.OverflowUint(n) {
		d.at += size
		v.SetUint(n)
		return true
	}
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

func decodeFloat(bits int) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		if bits == 64 {
			if f, n := exactFloat(d.data, d.at); n > 0 {
				d.at += n
				v.SetFloat(f)
				return true
			}
		}
		if d.null() {
			return true
		}
		text, ok := d.number()
		if !ok {
			return d.mistyped(v)
		}
		f, err := strconv.ParseFloat(asString(text), bits)
		if err != nil {
			return d.mistypedNumber(text, v)
		}
		v.SetFloat(f)
		return true
	}
}

func decodeString(d *decoder, v reflect.Value) bool {
	if d.first() != '"' {
		return d.null() || d.mistyped(v)
	}
	text, ok := d.string()
	if ok {
		v.SetString(text)
	}
	return ok
}

// string is like text, for a string that is kept.
func (d *decoder) string() (text string, ok bool) {
	b, ok := d.text()
	return d.kept(b), ok
}

// kept converts b, which text has returned, to a string.
func (d *decoder) kept(b []byte) string {
	switch {
	case len(b) <= maxText && d.shares:
		return d.shared.text(b)
	case len(b) >= chunkSize && d.whole.gives(b):
		return asString(b)
	}
	return string(b)
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

func decodePointer(of *plan, t reflect.Type) func(*decoder, reflect.Value) bool {
	element := t.Elem()
	return func(d *decoder, v reflect.Value) bool {
		if d.null() {
			v.SetZero()
			return true
		}
		if v.IsNil() {
			v.Set(reflect.New(element))
		}
		return of.decodes(d, v.Elem())
	}
}

// decodeStrings returns a decodeSlice for []string that needs no reflection for most strings. slowly handles the
// remaining cases with reflection.
func decodeStrings(slowly func(*decoder, reflect.Value) bool) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		list, ok := v.Addr().Interface().(*[]string)
		if !ok || *list != nil || d.first() != '[' {
			return slowly(d, v)
		}
		p := pile[string]{base: len(d.strings)}
		outermost := d.depth == 0
		more, ok := d.enter(']')
		for i := 0; more; i++ {
			var text string
			is := false
			if d.peek() == '"' {
				text, is = d.string()
			} else {
				d.one = ""
				is = decodeString(d, reflect.ValueOf(&d.one).Elem())
				text = d.one
			}
			p.add(&d.strings, text)
			if outermost {
				d.inElement(i, is)
			}
			if !is {
				ok = false
				break
			}
			more, ok = d.next(']', inElements)
		}
		*list = p.list(&d.strings)
		return ok
	}
}

func decodeSlice(of *plan, t reflect.Type) func(*decoder, reflect.Value) bool {
	size := int(t.Elem().Size())
	return func(d *decoder, v reflect.Value) bool {
		if d.first() != '[' {
			if d.null() {
				v.SetZero()
				return true
			}
			return d.mistyped(v)
		}
		l := newList(v, size)
		outermost := d.depth == 0
		more, ok := d.enter(']')
		for more {
			d.peek()
			is := of.decodes(d, l.next())
			if outermost {
				d.inElement(l.len()-1, is)
			}
			if !is {
				ok = false
				break
			}
			more, ok = d.next(']', inElements)
		}
		l.end()
		return ok
	}
}

func decodeMap(of *plan, t reflect.Type) func(*decoder, reflect.Value) bool {
	return func(d *decoder, v reflect.Value) bool {
		if d.first() != '{' {
			if d.null() {
				v.SetZero()
				return true
			}
			return d.mistyped(v)
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(t))
		}
		more, ok := d.enter('}')
		if !more {
			return ok
		}
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		for context := inFirstName; more; context = inName {
			text, is := d.name(context)
			if !is {
				return false
			}
			name := d.same(text)
			if !d.colon() {
				return false
			}
			if value.SetZero(); !of.decodes(d, value) {
				return false
			}
			key.SetString(name)
			v.SetMapIndex(key, value)
			more, ok = d.next('}', inMembers)
		}
		return ok
	}
}

func (r *record) decode(d *decoder, v reflect.Value) bool {
	if d.first() != '{' {
		return d.null() || d.mistyped(v)
	}
	next := 0 // fields are mostly in order
	more, ok := d.enter('}')
	for context := inFirstName; more; context = inName {
		if next < len(r.fields) && d.isKey(r.fields[next].key) {
			if f := &r.fields[next]; !r.decodeField(d, f, v) {
				return false
			}
			next++
		} else {
			name, is := d.name(context)
			if !is {
				return false
			}
			if f := r.field(name); f == nil {
				is = d.unknown(name)
			} else {
				next = f.next
				is = d.colon() && r.decodeField(d, f, v)
			}
			if !is {
				return false
			}
		}
		more, ok = d.next('}', inMembers)
	}
	return ok
}

// isKey consumes a comma, a name and a colon if they are written exactly as in key, without white space.
func (d *decoder) isKey(key string) bool {
	left := d.data[d.at:]
	key = key[1:]
	if len(left) <= len(key) || string(left[:len(key)]) != key || left[len(key)] <= ' ' {
		return false
	}
	d.at += len(key)
	return true
}

func (r *record) decodeField(d *decoder, f *recordField, v reflect.Value) bool {
	ok := f.plan.decodes(d, v.Field(f.index))
	if d.wrong == d.depth {
		d.s.inField(d, v.Type().Name(), f.name)
	}
	return ok
}

// field returns the field with this name, or with a name that it folds to, or nil.
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

// slowly is field for names that are long or not ASCII, since some other letters fold to ASCII letters.
func (r *record) slowly(name string) *recordField {
	for i := range r.fields {
		if strings.EqualFold(r.fields[i].name, name) {
			return &r.fields[i]
		}
	}
	return nil
}
