package plainjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
)

// plan says how values of a type are encoded and decoded. If a function is nil or returns false, encoding/json takes
// over.
type plan struct {
	encode func(*encoder, reflect.Value) bool
	decode func(*decoder, reflect.Value) bool
}

var plans sync.Map // of *plan by reflect.Type

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	b := builder{}
	b.plan(t)
	for t, p := range b {
		plans.LoadOrStore(t, p)
	}
	p, _ := plans.Load(t)
	return p.(*plan)
}

// builder holds the plans under construction, because a type may contain itself.
type builder map[reflect.Type]*plan

var (
	marshaler       = reflect.TypeFor[json.Marshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	timeType        = reflect.TypeFor[time.Time]()
	numberType      = reflect.TypeFor[json.Number]()
	anyType         = reflect.TypeFor[any]()
	stringsType     = reflect.TypeFor[[]string]()
	rawType         = reflect.TypeFor[json.RawMessage]()
)

func (b builder) plan(t reflect.Type) *plan {
	if p, ok := b[t]; ok {
		return p
	}
	p := &plan{}
	b[t] = p
	if t == timeType {
		p.encode, p.decode = encodeTime, decodeTime
		return p
	}
	if t == numberType {
		return p
	}
	b.fill(p, t)
	adopt(p, t)
	if t == rawType {
		p.decode = decodeRaw
	}
	return p
}

// adopt fills p for a type with methods of its own, if the methods are simple to use.
func adopt(p *plan, t reflect.Type) {
	pointer := reflect.PointerTo(t)
	switch {
	case t.Implements(marshaler) && t.Kind() != reflect.Interface:
		p.encode = encodeMarshaler
	case t.Implements(textMarshaler), t.Kind() != reflect.Pointer && (pointer.Implements(marshaler) || pointer.Implements(textMarshaler)):
		p.encode = nil // it depends on whether the value is addressable
	}
	switch {
	case t.Kind() == reflect.Pointer: // its element has the methods
	case pointer.Implements(unmarshaler) && t.Name() != "":
		p.decode = decodeUnmarshaler
	case pointer.Implements(unmarshaler), pointer.Implements(textUnmarshaler):
		p.decode = nil
	}
}

// fill fills p according to the structure of t.
func (b builder) fill(p *plan, t reflect.Type) {
	switch t.Kind() {
	case reflect.Bool:
		p.encode, p.decode = encodeBool, decodeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.encode, p.decode = encodeInt, decodeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.encode, p.decode = encodeUint, decodeUint
	case reflect.Float32:
		p.encode, p.decode = encodeFloat(32), decodeFloat(32)
	case reflect.Float64:
		p.encode, p.decode = encodeFloat(64), decodeFloat(64)
	case reflect.String:
		p.encode, p.decode = encodeString, decodeString
	case reflect.Interface:
		if t.NumMethod() == 0 {
			p.encode, p.decode = encodeAny, decodeAny
		}
	case reflect.Pointer:
		b.made(p, t, encodePointer, decodePointer)
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 { // otherwise it is base64
			b.made(p, t, encodeSlice, decodeSlice)
			if t == stringsType {
				p.decode = decodeStrings(p.decode)
			}
		}
	case reflect.Map:
		key := t.Key()
		pointer := reflect.PointerTo(key)
		if key.Kind() == reflect.String && !pointer.Implements(textMarshaler) && !pointer.Implements(textUnmarshaler) {
			b.made(p, t, encodeMap, decodeMap)
		}
	case reflect.Struct:
		b.fillStruct(p, t)
	}
}

// made fills p for a type that is made of another type.
func (b builder) made(
	p *plan, t reflect.Type, encode func(*plan) func(*encoder, reflect.Value) bool, decode func(*plan, reflect.Type) func(*decoder, reflect.Value) bool,
) {
	of := b.plan(t.Elem())
	p.encode, p.decode = encode(of), decode(of, t)
}

// record is the layout of a struct.
type record struct {
	fields []recordField
	exact  map[string]*recordField
	folded map[string]*recordField // by name in lower case
}

type recordField struct {
	name  string
	key   string // ,"name":
	index int
	next  int // index of the field that usually follows
	omit  func(reflect.Value) bool
	plan  *plan
}

// fillStruct fills p for a struct, unless it has something unusual: fields of embedded structs, names that hide each
// other, options, or names that are not ASCII.
func (b builder) fillStruct(p *plan, t reflect.Type) {
	r := &record{exact: map[string]*recordField{}, folded: map[string]*recordField{}}
	r.fields = make([]recordField, 0, t.NumField())
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("json")
		switch {
		case field.Anonymous:
			return
		case !field.IsExported() || tag == "-":
			continue
		}
		one, ok := fieldOf(&field, tag)
		lower := strings.ToLower(one.name)
		if !ok || r.folded[lower] != nil {
			return
		}
		one.index, one.next, one.plan = i, len(r.fields)+1, b.plan(field.Type)
		r.fields = append(r.fields, one)
		at := &r.fields[len(r.fields)-1]
		r.exact[one.name], r.folded[lower] = at, at
	}
	p.encode, p.decode = r.encode, r.decode
}

func fieldOf(field *reflect.StructField, tag string) (one recordField, ok bool) {
	name, options, _ := strings.Cut(tag, ",")
	if name == "" {
		name = field.Name
	}
	if !isPlainName(name) {
		return one, false
	}
	one.name, one.key = name, `,"`+name+`":`
	empty, zero := false, false
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "omitempty":
			empty = true
		case "omitzero":
			zero = true
		default:
			return one, false
		}
	}
	switch {
	case empty && zero:
		return one, false
	case empty:
		one.omit = omitEmpty(field.Type.Kind())
	case zero && field.Type == timeType:
		one.omit = func(v reflect.Value) bool { t, ok := timeIn(v); return ok && t.IsZero() }
	case zero:
		_, own := field.Type.MethodByName("IsZero") // a pointer to a pointer has none of its methods
		if !own {
			_, own = reflect.PointerTo(field.Type).MethodByName("IsZero")
		}
		if one.omit = reflect.Value.IsZero; own {
			return one, false
		}
	}
	return one, true
}

// isPlainName reports whether name needs no escape and folds like ASCII.
func isPlainName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.':
		default:
			return false
		}
	}
	return name != ""
}

// omitEmpty returns a function that reports whether omitempty leaves out a value of this kind.
func omitEmpty(kind reflect.Kind) func(reflect.Value) bool {
	switch kind {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		return func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.Struct:
		return nil
	}
	return reflect.Value.IsZero
}
