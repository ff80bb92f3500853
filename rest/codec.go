package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

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
// DecodeFrom reads through a window of 64 KiB, so that the text of a body larger than 1 MiB is never in memory whole. Only a
// single value that needs its text in one piece is: a long string, or what goes to an UnmarshalJSON or to encoding/json.
//
// A text that ends too early is io.ErrUnexpectedEOF for errors.Is, as a json.Decoder says it.
//
// After an error the value may be filled in part, and an UnmarshalJSON may have been called twice.
type JSON struct {
	// Strict makes anything but white space behind the value an error. It is ignored
	// by default.
	Strict bool

	// RefuseUnknown makes fields that the value has no place for an error.
	RefuseUnknown bool
}

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
	if !j.RefuseUnknown {
		if plainjson.Decode(data, v) {
			return nil
		}
		if err := json.Unmarshal(data, v); err == nil || !isSyntax(err) {
			return decodeError(err, 0)
		}
	}
	return j.decodeOne(data, v)
}

// decodeOne decodes the value that data begins with. Data behind the value is an error if the codec is strict and the value is right.
func (j JSON) decodeOne(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if j.RefuseUnknown {
		d.DisallowUnknownFields()
	}
	err := d.Decode(v)
	if err == nil && j.Strict {
		var all json.RawMessage
		err = json.Unmarshal(data, &all)
	}
	at := d.InputOffset()
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err, at = io.ErrUnexpectedEOF, int64(len(data))
	}
	return decodeError(err, at)
}

func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}

// firstWindow is how much of a text is in memory while it is decoded.
const firstWindow = 64 << 10

// DecodeFrom implements Codec.
func (j JSON) DecodeFrom(r io.Reader, v any) error {
	window := getBuffer(firstWindow)
	defer window.release()
	err := plainjson.DecodeFrom(r, v, plainjson.Options{Window: window.b, Strict: j.Strict, RefuseUnknown: j.RefuseUnknown})
	if err != nil {
		return &DecodeError{Offset: err.Offset, Path: err.Path, Err: err.Err}
	}
	return nil
}

// decodeError says where it is that err, from encoding/json, happened. at is where if it does not say
// itself.
func decodeError(err error, at int64) error {
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return &DecodeError{Offset: syntax.Offset, Err: err}
	case errors.As(err, &mistyped):
		return &DecodeError{Offset: mistyped.Offset, Path: mistyped.Field, Err: err}
	}
	return &DecodeError{Offset: at, Err: err}
}
