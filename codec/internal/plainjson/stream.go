package plainjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// stream is what a decoder needs to read a text of which only a window is in memory:
//
//	text    …………………[ window )…………
//	              base  at
//
// The decoder asks for more when it is at the end of the window. Text that it has passed is dropped, unless it is part of a value that is needed whole. The
// decoder cannot begin again with encoding/json, so it gives encoding/json single values: of types that are not plain, or that do not fit.
type stream struct {
	src  io.Reader // nil behind its end
	err  error     // what src ended with, nil if that is io.EOF
	base int64     // where in the text the window begins
	Options

	from int // where in the window the text begins that is wanted whole, -1 if none is

	context string // of the byte that is wrong: see decoder.fail
	wrong   error  // the first value that does not fit, at wrongAt
	wrongAt int64
	fields  []string // that lead there, the innermost first
	element int      // of the list that is all of the text, in which it is; -1 if it is in none
	stuck   int      // the same of where the text cannot be read on
}

// Options are how a stream is decoded.
type Options struct {
	Window        []byte // memory for it, of at least a few dozen bytes
	Strict        bool   // there may be nothing but white space behind the value
	RefuseUnknown bool   // fields that a struct does not have are errors
}

// Error says what is wrong with a text, after Offset bytes of it.
type Error struct {
	Offset int64
	Path   string
	Err    error // of encoding/json, of what the text was read from, or io.ErrUnexpectedEOF if it is not whole
}

// The contexts of decoder.fail.
const (
	inValue     = ``
	inText      = `"`
	inElements  = `[""`
	inFirstName = `{`
	inName      = `{"":0,`
	inColon     = `{""`
	inMembers   = `{"":""`
	behind      = `0 `
)

// maxStreamDepth is how deep encoding/json follows values.
const maxStreamDepth = 10_000

var inTooDeep = strings.Repeat("[", maxStreamDepth)

// DecodeFrom makes the value that v points to what the text in src says, as a json.Decoder does. As there, a value
// of the wrong type does not end it, and the first one is what it returns. It reads until it has seen what is behind the value.
func DecodeFrom(src io.Reader, v any, o Options) *Error {
	pointer := reflect.ValueOf(v)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() {
		return &Error{Err: &json.InvalidUnmarshalError{Type: reflect.TypeOf(v)}}
	}
	d := newDecoder(o.Window[:0])
	defer d.release()
	s := &stream{src: src, Options: o, from: -1, element: -1, stuck: -1}
	d.s, d.deepest, d.shares = s, maxStreamDepth+1, true
	if d.space(); !planOf(pointer.Type().Elem()).decodes(d, pointer.Elem()) {
		return s.failed(d)
	}
	d.peek()
	switch {
	case s.err == nil && s.wrong != nil:
		return s.misfit()
	case s.err != nil, s.Strict && d.at < len(d.data):
		s.context = behind
		return s.failed(d)
	}
	return nil
}

// read reads more into the window, behind what is left of it.
func (s *stream) read(d *decoder) bool {
	if s.src == nil {
		return false
	}
	if s.from >= 0 {
		left := d.left()
		d.whole.add(d.data[s.from:d.at], left, left)
		s.from = 0
	}
	s.base += int64(d.at)
	left := copy(d.data, d.data[d.at:])
	if d.data, d.at = d.data[:left], 0; left == cap(d.data) {
		d.data = append(make([]byte, 0, 2*left), d.data...) // for a long number
	}
	for range 100 {
		n, err := s.src.Read(d.data[left:cap(d.data)])
		d.data = d.data[:left+n]
		if err != nil {
			s.src = nil
			if err != io.EOF {
				s.err = err
			}
		}
		if n > 0 || err != nil {
			return n > 0
		}
	}
	s.src, s.err = nil, io.ErrNoProgress
	return false
}

// raw is decoder.raw.
func (s *stream) raw(d *decoder) (text []byte, ok bool) {
	s.from = d.at
	if ok = d.skip(); !ok {
		return nil, false
	}
	text = d.data[s.from:d.at:d.at]
	s.from = -1
	return d.joined(text), true
}

// other leaves a value to encoding/json, if that can be done for this one alone.
func (d *decoder) other(v reflect.Value) bool {
	if d.s == nil {
		return false
	}
	text, ok := d.raw()
	if !ok {
		return false
	}
	return d.took(text, d.s.unmarshal(text, v.Addr()))
}

func (s *stream) unmarshal(text []byte, v reflect.Value) error {
	var err error
	if s.RefuseUnknown {
		j := json.NewDecoder(bytes.NewReader(text))
		j.DisallowUnknownFields()
		err = j.Decode(v.Interface())
	} else {
		err = json.Unmarshal(text, v.Interface())
	}
	if mistyped, ok := err.(*json.UnmarshalTypeError); ok && mistyped.Type == v.Type() {
		mistyped.Type = v.Type().Elem() // the pointer is ours
	}
	return err
}

// mistyped is other for a value that cannot become a v, which encoding/json has to say once only.
func (d *decoder) mistyped(v reflect.Value) bool {
	if d.s != nil && d.s.wrong != nil {
		return d.skip()
	}
	return d.other(v)
}

// mistypedNumber is mistyped for a number that has been passed over.
func (d *decoder) mistypedNumber(text []byte, v reflect.Value) bool {
	d.at -= len(text)
	return d.mistyped(v)
}

// took reports whether to go on after a value has been given to somebody who returned err.
func (d *decoder) took(text []byte, err error) bool {
	if d.s == nil {
		return err == nil
	}
	d.whole.gives(text) // and nobody else keeps it
	if err != nil {
		d.s.note(d, d.offset(), int64(len(text)), err)
	}
	return true
}

// note keeps the first error about a value, which ends at the offset. Its fields are noted as the values around it end: d.wrong
// is the depth of the innermost of them whose field is not noted yet.
func (s *stream) note(d *decoder, end, size int64, err error) {
	if s.wrong != nil {
		return
	}
	s.wrong, s.wrongAt, d.wrong = err, end, d.depth
	if mistyped, ok := err.(*json.UnmarshalTypeError); ok {
		at := *mistyped
		at.Offset = min(at.Offset+end-size, end)
		s.wrong, s.wrongAt = &at, at.Offset
		if at.Field != "" {
			s.fields = append(s.fields, at.Field)
		}
	}
}

// inField puts a field before the path.
func (s *stream) inField(d *decoder, of, name string) {
	d.wrong--
	if mistyped, ok := s.wrong.(*json.UnmarshalTypeError); ok && len(s.fields) == 0 {
		mistyped.Struct = of
	}
	s.fields = append(s.fields, name)
}

// inElement says that the element of the list that is all of the text ends, or cannot be read on.
func (d *decoder) inElement(i int, ok bool) {
	switch {
	case d.s == nil:
	case !ok:
		d.s.stuck = i
	case d.wrong == d.depth:
		d.s.element = i
		d.wrong--
	}
}

// unknown passes over the colon and the value of a field that a struct does not have.
func (d *decoder) unknown(name []byte) bool {
	if d.s == nil || !d.s.RefuseUnknown {
		return d.colon() && d.skip()
	}
	err := fmt.Errorf("json: unknown field %q", name)
	if !d.colon() {
		return false
	}
	d.s.note(d, d.offset(), 0, err)
	return d.skip()
}

// failed returns why the text cannot be read on from where the decoder is.
func (s *stream) failed(d *decoder) *Error {
	at := s.base + int64(d.at)
	if s.err != nil {
		return &Error{Offset: at, Err: s.err}
	}
	s.fields, s.element = nil, s.stuck
	text := append([]byte(s.context), d.data[d.at:]...)
	var err error
	if s.context == behind {
		err = json.Unmarshal(text, new(int))
	} else {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage))
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return &Error{s.base + int64(len(d.data)), s.pathTo(), io.ErrUnexpectedEOF}
	}
	syntax.Offset += at - int64(len(s.context))
	return &Error{syntax.Offset, s.pathTo(), syntax}
}

// misfit returns the error about the first value that does not fit.
func (s *stream) misfit() *Error {
	path := s.pathTo()
	if mistyped, ok := s.wrong.(*json.UnmarshalTypeError); ok {
		mistyped.Field = strings.Join(s.fields, ".")
	}
	return &Error{s.wrongAt, path, s.wrong}
}

// pathTo returns the path to what is wrong, and puts the fields in it in order.
func (s *stream) pathTo() string {
	slices.Reverse(s.fields)
	path := strings.Join(s.fields, ".")
	if s.element < 0 {
		return path
	}
	return strings.TrimSuffix(fmt.Sprintf("[%d].%s", s.element, path), ".")
}
