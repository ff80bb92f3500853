package plainjson

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// encoder appends to b.
type encoder struct {
	b     []byte
	grow  func([]byte, int) []byte
	html  bool // <, > and & are escaped
	depth int
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// need makes room for n bytes if the caller passed a grow function.
func (e *encoder) need(n int) {
	if cap(e.b)-len(e.b) < n && e.grow != nil {
		e.b = e.grow(e.b, n)
	}
}

func (e *encoder) null() bool {
	e.b = append(e.b, "null"...)
	return true
}

// down enters a nested value and reports whether the depth is allowed. up leaves it.
func (e *encoder) down() bool {
	e.depth++
	return e.depth < maxDepth
}

func (e *encoder) up() { e.depth-- }

func (p *plan) encodes(e *encoder, v reflect.Value) bool { return p.encode != nil && p.encode(e, v) }

func encodeBool(e *encoder, v reflect.Value) bool {
	e.b = strconv.AppendBool(e.b, v.Bool())
	return true
}

func encodeInt(e *encoder, v reflect.Value) bool {
	e.b = strconv.AppendInt(e.b, v.Int(), 10)
	return true
}

func encodeUint(e *encoder, v reflect.Value) bool {
	e.b = strconv.AppendUint(e.b, v.Uint(), 10)
	return true
}

func encodeString(e *encoder, v reflect.Value) bool {
	s := v.String()
	e.need(len(s) + 16)
	e.b = appendQuoted(e.b, s, e.html)
	return true
}

// encodeFloat encodes numbers like ECMAScript, as encoding/json does.
func encodeFloat(bits int) func(*encoder, reflect.Value) bool {
	least, most := 1e-6, 1e21
	if bits == 32 {
		least, most = float64(float32(least)), float64(float32(most))
	}
	return func(e *encoder, v reflect.Value) bool {
		f := v.Float()
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return false
		}
		abs := math.Abs(f)
		if abs == 0 || abs >= least && abs < most {
			e.b = strconv.AppendFloat(e.b, f, 'f', -1, bits)
			return true
		}
		e.b = strconv.AppendFloat(e.b, f, 'e', -1, bits)
		if n := len(e.b); n >= 4 && e.b[n-4] == 'e' && (e.b[n-3] == '-' || e.b[n-3] == '+') && e.b[n-2] == '0' {
			e.b[n-2] = e.b[n-1] // e-09 becomes e-9
			e.b = e.b[:n-1]
		}
		return true
	}
}

func encodeTime(e *encoder, v reflect.Value) bool {
	t, ok := timeIn(v)
	if !ok {
		return false
	}
	text, err := t.AppendText(append(e.b, '"'))
	if err != nil {
		return false
	}
	e.b = append(text, '"')
	return true
}

// timeIn returns the time in v. It does not allocate if v is addressable.
func timeIn(v reflect.Value) (t time.Time, ok bool) {
	if !v.CanAddr() {
		t, ok = v.Interface().(time.Time)
		return t, ok
	}
	p, ok := v.Addr().Interface().(*time.Time)
	if ok {
		t = *p
	}
	return t, ok
}

func encodeMarshaler(e *encoder, v reflect.Value) bool {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return e.null()
	}
	m, ok := v.Interface().(json.Marshaler)
	if !ok {
		return false
	}
	text, err := m.MarshalJSON()
	if err != nil {
		return false
	}
	e.need(len(text))
	from := len(e.b)
	b := bytes.NewBuffer(e.b)
	if err := json.Compact(b, text); err != nil {
		return false
	}
	e.b = b.Bytes()
	if e.html {
		e.escapeHTML(from)
	}
	return true
}

// escapeHTML escapes the output of a MarshalJSON method, which starts at index from, like json.Marshal.
func (e *encoder) escapeHTML(from int) {
	if !bytes.ContainsAny(e.b[from:], "<>&\u2028\u2029") {
		return
	}
	text := bytes.Clone(e.b[from:])
	b := bytes.NewBuffer(e.b[:from])
	json.HTMLEscape(b, text)
	e.b = b.Bytes()
}

func encodeAny(e *encoder, v reflect.Value) bool {
	if v.IsNil() {
		return e.null()
	}
	if !e.down() {
		return false
	}
	defer e.up()
	v = v.Elem()
	return planOf(v.Type()).encodes(e, v)
}

func encodePointer(of *plan) func(*encoder, reflect.Value) bool {
	return func(e *encoder, v reflect.Value) bool {
		if v.IsNil() {
			return e.null()
		}
		if !e.down() {
			return false
		}
		defer e.up()
		return of.encodes(e, v.Elem())
	}
}

func encodeSlice(of *plan) func(*encoder, reflect.Value) bool {
	return func(e *encoder, v reflect.Value) bool {
		if v.IsNil() {
			return e.null()
		}
		if !e.down() || of.encode == nil {
			return false
		}
		defer e.up()
		e.b = append(e.b, '[')
		for i := range v.Len() {
			if i > 0 {
				e.b = append(e.b, ',')
			}
			if !of.encode(e, v.Index(i)) {
				return false
			}
		}
		e.b = append(e.b, ']')
		return true
	}
}

func encodeMap(of *plan) func(*encoder, reflect.Value) bool {
	type member struct {
		name  string
		value reflect.Value
	}
	return func(e *encoder, v reflect.Value) bool {
		if v.IsNil() {
			return e.null()
		}
		if !e.down() || of.encode == nil {
			return false
		}
		defer e.up()
		members := make([]member, 0, v.Len())
		for m := v.MapRange(); m.Next(); {
			members = append(members, member{m.Key().String(), m.Value()})
		}
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		e.b = append(e.b, '{')
		for i := range members {
			if i > 0 {
				e.b = append(e.b, ',')
			}
			e.need(len(members[i].name) + 16)
			e.b = append(appendQuoted(e.b, members[i].name, e.html), ':')
			if !of.encode(e, members[i].value) {
				return false
			}
		}
		e.b = append(e.b, '}')
		return true
	}
}

func (r *record) encode(e *encoder, v reflect.Value) bool {
	const number = 24 // bytes per field besides its name
	e.need(len(r.fields) * (2*number + 8))
	e.b = append(e.b, '{')
	first := true
	for i := range r.fields {
		f := &r.fields[i]
		value := v.Field(f.index)
		if f.omit != nil && f.omit(value) {
			continue
		}
		if first {
			e.b = append(e.b, f.key[1:]...)
		} else {
			e.b = append(e.b, f.key...)
		}
		if first = false; !f.plan.encodes(e, value) {
			return false
		}
	}
	e.b = append(e.b, '}')
	return true
}
