package rest

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// SetQueryFrom sets query parameters from the fields of a struct that have the tag "query". The argument v is the struct or a
// pointer to the struct. A nil pointer sets nothing. If a field has no tag "query", its tag "url" is used.
//
//	type ListOptions struct {
//		State  string    `query:"state,omitempty"`
//		Labels []string  `query:"labels,comma"` // one parameter; without comma, one for each element
//		Since  time.Time `query:"since,omitempty"`
//		Day    time.Time `query:"day" layout:"2006-01-02"`
//		Page   *int      `query:"page"` // left out if nil
//	}
//
// A field can be a string, []byte, bool, number, time.Time, time.Duration, or a type with a MarshalText method.
// Pointers and slices, such as *time.Time and []int, are supported, too. Nil values are left out. The fields of an
// embedded struct without a tag count as fields of the struct itself. A field with the tag "-" is left out. Times are
// in RFC 3339 and durations in the form of time.Duration.String, such as 1m30s.
//
// In the tag, these options can follow the name:
//
//   - omitempty: a field is left out if it is zero or an empty slice.
//   - comma: the elements of a slice are joined with commas into one value.
//   - unix: a time is sent as the number of seconds since 1970.
//
// The tag layout sets the format of times. See time.Time.Format.
//
// The Binder of package web reads the same tags and options, so a client and a server can share the type. SetQueryFrom ignores
// options that only the Binder has, such as required.
func (r *Request) SetQueryFrom(v any) *Request {
	return r.from(v, []string{"query", "url"}, r.SetQuery, r.AddQuery)
}

// SetFormFrom sets fields of the form from the fields of a struct that have the tag "form". See [Request.SetQueryFrom].
func (r *Request) SetFormFrom(v any) *Request {
	return r.from(v, []string{"form"}, r.SetForm, r.AddForm)
}

// SetPathValuesFrom sets path parameters from the fields of a struct that have the tag "path" or "uri". If a field
// has both tags, the tag "path" is used. See [Request.SetQueryFrom].
func (r *Request) SetPathValuesFrom(v any) *Request {
	return r.from(v, []string{"path", "uri"}, r.SetPathValue, r.SetPathValue)
}

// SetCookiesFrom sets cookies from the fields of a struct that have the tag "cookie". See [Request.SetQueryFrom].
func (r *Request) SetCookiesFrom(v any) *Request {
	return r.from(v, []string{"cookie"}, r.SetCookie, r.SetCookie)
}

// from calls set, and add for further values of a name, with the values of the fields of v. The first of the tags that a field
// has counts.
func (r *Request) from(v any, tags []string, set, add func(name, value string) *Request) *Request {
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
	err := eachTagged(value, tags, func(name, value string) {
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

// tagOptions say how a field becomes text.
type tagOptions struct {
	list   string // the options of the tag, with a comma on both sides of each
	layout string // of times, "" for RFC 3339
}

func (o *tagOptions) has(option string) bool { return strings.Contains(o.list, ","+option+",") }

// tagOf returns the name and the options that the first of the tags says.
func tagOf(field *reflect.StructField, tags []string) (name string, o tagOptions) {
	for _, tag := range tags {
		if text, ok := field.Tag.Lookup(tag); ok {
			name, o.list, _ = strings.Cut(text, ",")
			break
		}
	}
	o.list, o.layout = ","+o.list+",", field.Tag.Get("layout")
	return name, o
}

// eachTagged calls yield with the names and values of the tagged fields of a struct.
func eachTagged(v reflect.Value, tags []string, yield func(name, value string)) error {
	t := v.Type()
	for i := range t.NumField() {
		field, value := t.Field(i), v.Field(i)
		name, options := tagOf(&field, tags)
		if field.Anonymous && name == "" {
			for value.Kind() == reflect.Pointer && !value.IsNil() {
				value = value.Elem()
			}
			if value.Kind() == reflect.Struct {
				if err := eachTagged(value, tags, yield); err != nil {
					return err
				}
			}
			continue
		}
		if name == "" || name == "-" || !field.IsExported() {
			continue
		}
		texts, err := tagged(value, &options)
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
func tagged(v reflect.Value, options *tagOptions) (texts []string, err error) {
	if options.has("omitempty") && isEmpty(v) {
		return nil, nil
	}
	for v.Kind() == reflect.Pointer && !v.IsNil() && !isTexter(v) { // to a slice, perhaps
		v = v.Elem()
	}
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array || isTexter(v) || isBytes(v) {
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
	if options.has("comma") && len(texts) > 0 {
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

func isBytes(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8
}

// textOf returns v as text. A nil pointer is none.
func textOf(v reflect.Value, options *tagOptions) (text string, ok bool, err error) {
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
		switch {
		case options.has("unix"):
			return strconv.FormatInt(one.Unix(), 10), true, nil
		case options.layout != "":
			return one.Format(options.layout), true, nil
		}
	case time.Duration:
		return one.String(), true, nil
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
	case isBytes(v):
		return string(v.Bytes()), !v.IsNil(), nil
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
