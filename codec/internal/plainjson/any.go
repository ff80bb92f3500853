package plainjson

import (
	"reflect"
	"strconv"
)

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

// any decodes a value into the type that it has in JSON.
func (d *decoder) any() (v any, ok bool) {
	switch d.first() {
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
		return d.anyObject()
	}
	return d.anyNumber()
}

func (d *decoder) anyNumber() (any, bool) {
	if f, n := exactFloat(d.data, d.at); n > 0 {
		d.at += n
		return d.boxedNumber(f), true
	}
	text, ok := d.number()
	if !ok {
		return nil, false
	}
	f, err := strconv.ParseFloat(asString(text), 64)
	if err != nil {
		return nil, d.mistypedNumber(text, reflect.New(anyType).Elem())
	}
	return d.boxedNumber(f), true
}

func (d *decoder) anyString() (any, bool) {
	b, ok := d.text()
	return d.boxedText(b), ok
}

func (d *decoder) anyList() (any, bool) {
	p := pile[any]{base: len(d.elements)}
	more, ok := d.enter(']')
	for more {
		d.peek()
		one, is := d.any()
		if !is {
			return nil, false
		}
		p.add(&d.elements, one)
		more, ok = d.next(']', inElements)
	}
	return p.list(&d.elements), ok
}

// anyMember is a member of an object.
type anyMember struct {
	name  string
	value any
}

// anyObject decodes an object. Its members are collected first, like in a pile, so that the map does not have to
// grow.
func (d *decoder) anyObject() (any, bool) {
	var object map[string]any
	var first [few]anyMember
	n, base := 0, len(d.members)
	more, ok := d.enter('}')
	for context := inFirstName; more; context = inName {
		text, is := d.name(context)
		if !is {
			return nil, false
		}
		name := d.same(text)
		if !d.colon() {
			return nil, false
		}
		value, is := d.any()
		if !is {
			return nil, false
		}
		if n < few {
			first[n] = anyMember{name, value}
			n++
		} else if d.members = append(d.members, anyMember{name, value}); len(d.members)-base == many {
			object = d.popMembers(object, first[:n], base)
		}
		more, ok = d.next('}', inMembers)
	}
	return d.popMembers(object, first[:n], base), ok
}

// popMembers adds collected members to an object, which it creates if object is nil: those in first, and those on the
// stack from base on.
func (d *decoder) popMembers(object map[string]any, first []anyMember, base int) map[string]any {
	if object == nil {
		object = make(map[string]any, len(first)+len(d.members)-base)
		for i := range first {
			object[first[i].name] = first[i].value
		}
	}
	for i := base; i < len(d.members); i++ {
		object[d.members[i].name] = d.members[i].value
	}
	clear(d.members[base:])
	d.members = d.members[:base]
	return object
}
