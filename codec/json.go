package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/gallop-http/gallop/codec/internal/plainjson"
	"github.com/gallop-http/gallop/internal/bufpool"
)

// JSON is the [Codec] for JSON (RFC 8259). The zero value has the same results as encoding/json: Encode writes the bytes that
// json.Marshal returns, and Decode stores the value that json.Unmarshal stores. Encode and Decode also return the same errors as
// json.Marshal and json.Unmarshal.
//
// JSON takes less time than encoding/json for types made of structs, slices, maps with string keys, pointers, basic
// types and times. For all other types, and for input with an error, JSON calls encoding/json. If JSON notices in
// the middle of a value that it needs encoding/json, encoding/json starts again at the beginning of the value.
// MarshalJSON and UnmarshalJSON methods can therefore be called twice for the same value.
//
// Values that Decode and DecodeFrom store never refer to the input. If the input has 16 KB or more, JSON stores short strings
// together in shared blocks of memory. Strings and numbers in variables of type any share blocks, too. A short string that the
// program keeps also keeps its block of up to 512 bytes in memory. A string or number in a variable of type any keeps a block of
// up to 8 KB in memory.
//
// JSON implements [StreamDecoder] and [Appender]. DecodeFrom keeps at most 64 KiB of the input in memory at a time. The
// exceptions are long strings, and values that encoding/json or an UnmarshalJSON method needs in one piece.
type JSON struct {
	// KeepHTML makes Encode leave <, > and & in strings as they are, like json.Encoder.SetEscapeHTML(false). By
	// default, Encode escapes <, > and &, so that the text is safe inside HTML.
	KeepHTML bool

	// IgnoreTrailing makes Decode and DecodeFrom ignore anything that follows the first value, like a json.Decoder. By
	// default, anything but white space after the value is an error. With IgnoreTrailing, the error for truncated input
	// is io.ErrUnexpectedEOF, as with a json.Decoder.
	IgnoreTrailing bool

	// RefuseUnknown makes Decode and DecodeFrom return an error for a JSON field that the destination struct does not
	// have, like json.Decoder.DisallowUnknownFields.
	RefuseUnknown bool
}

var (
	_ StreamDecoder = JSON{}
	_ Appender      = JSON{}
)

// ContentType returns "application/json". ContentType implements [Codec].
func (JSON) ContentType() string { return "application/json" }

// Encode encodes v and writes it to w in one call of Write. If encoding fails, Encode writes nothing. Encode
// implements [Codec].
func (j JSON) Encode(w io.Writer, v any) error {
	text, err := j.AppendEncode(bufpool.Get(0), v, bufpool.Grow)
	if err == nil {
		_, err = w.Write(text)
	}
	bufpool.Put(text)
	return err
}

// AppendEncode appends the JSON encoding of v to dst. AppendEncode implements [Appender].
func (j JSON) AppendEncode(dst []byte, v any, grow func(dst []byte, n int) []byte) ([]byte, error) {
	text, ok := plainjson.Append(dst, v, !j.KeepHTML, grow)
	if ok {
		return text, nil
	}
	a := appended{text, grow}
	e := json.NewEncoder(&a)
	e.SetEscapeHTML(!j.KeepHTML)
	if err := e.Encode(v); err != nil {
		return a.b[:len(dst)], err
	}
	return a.b[:len(a.b)-len("\n")], nil
}

// appended is an io.Writer that appends to b.
type appended struct {
	b    []byte
	grow func(dst []byte, n int) []byte
}

// Write implements io.Writer.
func (a *appended) Write(p []byte) (int, error) {
	if a.grow != nil && cap(a.b)-len(a.b) < len(p) {
		a.b = a.grow(a.b, len(p))
	}
	a.b = append(a.b, p...)
	return len(p), nil
}

// Decode decodes data into v. Decode returns the same errors as encoding/json. Decode implements [Codec].
func (j JSON) Decode(data []byte, v any) error {
	if j.RefuseUnknown {
		return j.decodeFirst(data, v)
	}
	if plainjson.Decode(data, v) {
		return nil
	}
	err := json.Unmarshal(data, v)
	if err != nil && j.IgnoreTrailing && isSyntax(err) { // perhaps only after the value
		return j.decodeFirst(data, v)
	}
	return err
}

// decodeFirst decodes with a json.Decoder, which does not look at what follows the value.
func (j JSON) decodeFirst(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if j.RefuseUnknown {
		d.DisallowUnknownFields()
	}
	if !j.IgnoreTrailing {
		if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
			return err
		}
	}
	err := d.Decode(v)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}

// windowSize is how many bytes of a text are in memory while DecodeFrom decodes it.
const windowSize = 64 << 10

// DecodeFrom decodes the first value in r. DecodeFrom returns the errors of a json.Decoder, wrapped in an [*Error]
// with the position in the input. After the value, DecodeFrom keeps reading to check for trailing data. DecodeFrom
// implements [StreamDecoder].
func (j JSON) DecodeFrom(r io.Reader, v any) error {
	window := bufpool.Get(windowSize)
	defer bufpool.Put(window)
	err := plainjson.DecodeFrom(r, v, plainjson.Options{Window: window, Strict: !j.IgnoreTrailing, RefuseUnknown: j.RefuseUnknown})
	if err != nil {
		return &Error{Offset: err.Offset, Path: err.Path, Err: err.Err}
	}
	return nil
}
