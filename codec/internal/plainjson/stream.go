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

// stream is the state of a decoder that reads a text of which only a window is in memory:
//
//	text    …………………[ window )…………
//	              base  at
//
// At the end of the window, the decoder reads more and drops the text before at, unless it belongs to a value that is
// needed whole. The decoder cannot start again with encoding/json. So it passes single values to encoding/json: those
// of types that are not plain, and those that do not fit their type.
type stream struct {
	src  io.Reader // nil after its end
	err  error     // error of src, or nil for io.EOF
	base int64     // position of the window in the text
	Options

	from int // position in the window of a text that is needed whole, or -1

	context string // context of the invalid byte, see decoder.fail
	wrong   error  // error of the first value that does not fit, which is at wrongAt
	wrongAt int64
	fields  []string // path to wrong, innermost field first
	element int      // if the whole text is a list, the index of the element that contains wrong; otherwise -1
	stuck   int      // the same index for the position from which the text cannot be read
}

// Options says how a stream is decoded.
type Options struct {
	Window        []byte // memory of the window, at least a few dozen bytes
	Strict        bool   // refuse anything but white space after the value
	RefuseUnknown bool   // refuse fields that a struct does not have
}

// Error describes what is wrong with a text, after Offset bytes of it.
type Error struct {
	Offset int64
	Path   string
	Err    error // error of encoding/json or of the source, or io.ErrUnexpectedEOF if the text is incomplete
}

// Contexts for decoder.fail.
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

// maxStreamDepth is the maximum depth of nested values in encoding/json.
const maxStreamDepth = 10_000

var inTooDeep = strings.Repeat("[", maxStreamDepth)

// DecodeFrom decodes the text in src into the value that v points to, like a json.Decoder. As there, a value of the
// wrong type does not end the decoding, and the error is about the first such value. DecodeFrom reads until it has
// seen what follows the value.
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

// read reads more data after the rest of the window.
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

// raw implements decoder.raw.
func (s *stream) raw(d *decoder) (text []byte, ok bool) {
	s.from = d.at
	if ok = d.skip(); !ok {
		return nil, false
	}
	text = d.data[s.from:d.at:d.at]
	s.from = -1
	return d.joined(text), true
}

// other passes a value to encoding/json, which is only possible in a stream.
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
		mistyped.Type = v.Type().Elem() // the pointer was added here
	}
	return err
}

// mistyped is like other for a value that does not fit the type of v. Only the first such error is needed from
// encoding/json.
func (d *decoder) mistyped(v reflect.Value) bool {
	if d.s != nil && d.s.wrong != nil {
		return d.skip()
	}
	return d.other(v)
}

// mistypedNumber is mistyped for a number that was consumed already.
func (d *decoder) mistypedNumber(text []byte, v reflect.Value) bool {
	d.at -= len(text)
	return d.mistyped(v)
}

// took reports whether to continue after encoding/json has decoded a value and returned err.
func (d *decoder) took(text []byte, err error) bool {
	if d.s == nil {
		return err == nil
	}
	d.whole.gives(text) // encoding/json does not keep it
	if err != nil {
		d.s.note(d, d.offset(), int64(len(text)), err)
	}
	return true
}

// note keeps the first error about a value, which ends at the given offset. Its fields are added to the path while
// the surrounding values end: d.wrong is the depth of the innermost one whose field was not added yet.
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

// inField prepends a field to the path.
func (s *stream) inField(d *decoder, of, name string) {
	d.wrong--
	if mistyped, ok := s.wrong.(*json.UnmarshalTypeError); ok && len(s.fields) == 0 {
		mistyped.Struct = of
	}
	s.fields = append(s.fields, name)
}

// inElement is called when element i of the outermost list ends or cannot be read.
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

// unknown consumes the colon and the value of a field that a struct does not have.
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

// failed returns the error for a text that cannot be read from the current position on.
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

// pathTo returns the path to the error, with its fields in order.
func (s *stream) pathTo() string {
	slices.Reverse(s.fields)
	path := strings.Join(s.fields, ".")
	if s.element < 0 {
		return path
	}
	return strings.TrimSuffix(fmt.Sprintf("[%d].%s", s.element, path), ".")
}
