package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"

	"github.com/gallop-http/gallop/rest/internal/plainjson"
)

// Codec turns values into bodies and back. A Codec is used by many goroutines.
type Codec interface {
	// ContentType is what bodies are sent as, and asked for.
	ContentType() string

	// Encode writes v to w.
	Encode(w io.Writer, v any) error

	// Decode makes v, a pointer, what data says. data is used again when it returns:
	// nothing in v may be a view of it.
	Decode(data []byte, v any) error

	// DecodeFrom is Decode for bodies that are too large to be in memory whole.
	DecodeFrom(r io.Reader, v any) error
}

// JSON is the Codec of clients that have no other: what encoding/json does, without the escapes for
// HTML. Plain types, of structs, slices, maps, pointers, texts, numbers and times, are encoded and decoded by
// shorter ways; whatever is unusual, and all that is wrong, is encoding/json's, as are the errors.
//
// A body larger than 1 MiB that is a list goes into an empty slice element by element, so that
// the text is never in memory whole.
//
// After an error the value may be filled in part, and an UnmarshalJSON may have been called twice.
type JSON struct {
	// Strict makes anything but white space behind the value an error. It is ignored
	// by default.
	Strict bool

	// RefuseUnknown makes fields that the value has no place for an error.
	RefuseUnknown bool
}

var errTrailing = errors.New("there is more behind the value")

// ContentType implements Codec.
func (JSON) ContentType() string { return "application/json" }

// Encode implements Codec.
func (JSON) Encode(w io.Writer, v any) error {
	buf, mine := w.(*buffer)
	if !mine {
		buf = getBuffer(0)
		defer buf.release()
	}
	if buf.append(v) {
		if mine {
			return nil
		}
		_, err := w.Write(buf.b)
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// append appends what v is, and a new line, if it is plain.
func (buf *buffer) append(v any) bool {
	text, ok := plainjson.Append(buf.b, v, func(b []byte, n int) []byte {
		buf.b = b
		buf.grow(n + 1)
		return buf.b
	})
	if buf.b = text; !ok {
		return false
	}
	buf.grow(1)
	buf.b = append(buf.b, '\n')
	return true
}

// Decode implements Codec.
func (j JSON) Decode(data []byte, v any) error {
	if j.RefuseUnknown {
		return j.decodeOne(j.decoder(bytes.NewReader(data)), v)
	}
	if plainjson.Decode(data, v) {
		return nil
	}
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	if !j.Strict && errors.As(err, &syntax) {
		again := j.decodeOne(j.decoder(bytes.NewReader(data)), v)
		if !errors.As(again, &syntax) && !errors.Is(again, io.ErrUnexpectedEOF) {
			return again // nil, or what is wrong with the value: the rest is only behind it
		}
	}
	return decodeError(err, 0, 0)
}

// DecodeFrom implements Codec.
func (j JSON) DecodeFrom(r io.Reader, v any) error {
	if list := emptyList(v); list.IsValid() {
		return j.decodeList(r, list)
	}
	return j.decodeOne(j.decoder(r), v)
}

func (j JSON) decoder(r io.Reader) *json.Decoder {
	d := json.NewDecoder(r)
	if j.RefuseUnknown {
		d.DisallowUnknownFields()
	}
	return d
}

func (j JSON) decodeOne(d *json.Decoder, v any) error {
	if err := d.Decode(v); err != nil {
		return decodeError(err, d.InputOffset(), 0)
	}
	return j.end(d, 0)
}

// end reports what is behind the value, if that is an error. base is where d begins.
func (j JSON) end(d *json.Decoder, base int64) error {
	if !j.Strict {
		return nil
	}
	at := d.InputOffset()
	switch _, err := d.Token(); err {
	case io.EOF:
		return nil
	default:
		var syntax *json.SyntaxError
		if err == nil || errors.As(err, &syntax) {
			err = errTrailing
		}
		return &DecodeError{Offset: at + base, Err: err}
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// emptyList returns the slice that v points to if its elements can be decoded one by one, and
// so that nobody sees a difference.
func emptyList(v any) reflect.Value {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() || p.Type().Implements(unmarshaler) {
		return reflect.Value{}
	}
	list := p.Elem()
	if list.Kind() != reflect.Slice || list.Cap() > 0 || list.Type().Elem().Kind() == reflect.Uint8 {
		return reflect.Value{}
	}
	return list
}

// decodeError says where it is that err, from encoding/json, happened. at is where if it does not say
// itself, and base where the decoder began.
func decodeError(err error, at, base int64) error {
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return &DecodeError{Offset: syntax.Offset + base, Err: err}
	case errors.As(err, &mistyped):
		return &DecodeError{Offset: mistyped.Offset + base, Path: mistyped.Field, Err: err}
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return &DecodeError{Offset: at + base, Err: err}
}
