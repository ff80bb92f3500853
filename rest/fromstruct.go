package rest

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// SetQueryFrom sets query parameters from the fields of a struct, or of a pointer to one, that have a tag:
//
//	type ListOptions struct {
//		State  string    `url:"state,omitempty"`
//		Labels []string  `url:"labels,comma"` // one parameter; without comma one for each
//		Since  time.Time `url:"since,omitempty"`
//		Page   *int      `url:"page"` // nil is left out
//	}
//
// Fields are texts, numbers, truth values, times (RFC 3339), what has a MarshalText, and slices of and pointers to
// these. Those of embedded structs belong to it; of others only those with a tag that is not "-". Options are omitempty,
// comma, and unix for times in seconds.
func (r *Request) SetQueryFrom(v any) *Request { return r.from(v, "url", r.SetQuery, r.AddQuery) }

// SetFormFrom sets fields of the form as SetQueryFrom does, with the tag "form".
func (r *Request) SetFormFrom(v any) *Request { return r.from(v, "form", r.SetForm, r.AddForm) }

// SetPathFrom sets values in the path as SetQueryFrom does, with the tag "path".
func (r *Request) SetPathFrom(v any) *Request { return r.from(v, "path", r.SetPath, r.SetPath) }

// SetCookiesFrom sets cookies as SetQueryFrom does, with the tag "cookie".
func (r *Request) SetCookiesFrom(v any) *Request {
	return r.from(v, "cookie", r.SetCookie, r.SetCookie)
}

// from gives set, and for further values of a name add, what the fields of v say.
func (r *Request) from(v any, tag string, set, add func(name, value string) *Request) *Request {
	value := reflect.ValueOf(v)
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	switch {
	case !value.IsValid():
		return r // nil
	case value.Kind() != reflect.Struct:
		r.fail(&EncodeError{Err: fmt.Errorf("%T is no struct", v)})
		return r
	}
	seen := map[string]bool{}
	err := eachTagged(value, tag, func(name, value string) {
		if seen[name] {
			add(name, value)
			return
		}
		seen[name] = true
		set(name, value)
	})
	if err != nil {
		r.fail(&EncodeError{Err: err})
	}
	return r
}

// eachTagged calls yield with what the tagged fields of a struct say.
func eachTagged(v reflect.Value, tag string, yield func(name, value string)) error {
	t := v.Type()
	for i := range t.NumField() {
		field, value := t.Field(i), v.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get(tag), ",")
		if field.Anonymous && name == "" {
			for value.Kind() == reflect.Pointer && !value.IsNil() {
				value = value.Elem()
			}
			if value.Kind() == reflect.Struct {
				if err := eachTagged(value, tag, yield); err != nil {
					return err
				}
			}
			continue
		}
		if name == "" || name == "-" || !field.IsExported() {
			continue
		}
		texts, err := tagged(value, ","+options+",")
		if err != nil {
			return fmt.Errorf("field %s of %s: %w", field.Name, t, err)
		}
		for _, text := range texts {
			yield(name, text)
		}
	}
	return nil
}

// tagged returns the values that a field stands for.
func tagged(v reflect.Value, options string) (texts []string, err error) {
	if strings.Contains(options, ",omitempty,") && isEmpty(v) {
		return nil, nil
	}
	for v.Kind() == reflect.Pointer && !v.IsNil() && !isTexter(v) { // to a slice, perhaps
		v = v.Elem()
	}
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array || isTexter(v) {
		text, ok, err := textOf(v, options)
		if !ok || err != nil {
			return nil, err
		}
		return []string{text}, nil
	}
	for i := range v.Len() {
		text, ok, err := textOf(v.Index(i), options)
		if err != nil {
			return nil, err
		}
		if ok {
			texts = append(texts, text)
		}
	}
	if strings.Contains(options, ",comma,") && len(texts) > 0 {
		texts = []string{strings.Join(texts, ",")}
	}
	return texts, nil
}

// isEmpty reports whether omitempty leaves v out.
func isEmpty(v reflect.Value) bool {
	if one, ok := v.Interface().(time.Time); ok {
		return one.IsZero() // in whatever zone
	}
	return v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

func isTexter(v reflect.Value) bool {
	return v.Type().Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// textOf returns v as text. A nil pointer is none.
func textOf(v reflect.Value, options string) (text string, ok bool, err error) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return "", false, nil
		}
		if isTexter(v) && !isTexter(v.Elem()) {
			break // the method is the pointer's
		}
		v = v.Elem()
	}
	switch one := v.Interface().(type) {
	case time.Time:
		if strings.Contains(options, ",unix,") {
			return strconv.FormatInt(one.Unix(), 10), true, nil
		}
	case encoding.TextMarshaler:
	default:
		return plainText(v)
	}
	b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	return string(b), true, err
}

func plainText(v reflect.Value) (text string, ok bool, err error) {
	switch kind := v.Kind(); {
	case kind == reflect.String:
		return v.String(), true, nil
	case kind == reflect.Bool:
		return strconv.FormatBool(v.Bool()), true, nil
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), true, nil
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10), true, nil
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'f', -1, v.Type().Bits()), true, nil
	case v.CanComplex():
		return strconv.FormatComplex(v.Complex(), 'f', -1, v.Type().Bits()), true, nil
	}
	return "", false, fmt.Errorf("a %s is no text", v.Type())
}
