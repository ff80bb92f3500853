// Package codec encodes and decodes the bodies of HTTP messages. Packages web and rest use the same codecs.
//
// [JSON] gives the same results as encoding/json in less time. [XML] uses encoding/xml. For another format,
// implement [Codec]:
//
//	type CBOR struct{}
//
//	func (CBOR) ContentType() string                { return "application/cbor" }
//	func (CBOR) Encode(w io.Writer, v any) error    { return cbor.NewEncoder(w).Encode(v) }
//	func (CBOR) Decode(data []byte, v any) error    { return cbor.Unmarshal(data, v) }
//
// A codec can also implement two optional interfaces. [StreamDecoder] saves memory with large bodies, and [Appender]
// avoids a copy of each encoded body.
package codec

import "io"

// Codec encodes and decodes one format. A Codec's methods must be safe for concurrent use.
type Codec interface {
	// ContentType returns the media type of encoded values in lower case, such as "application/json". The media type
	// can have parameters, such as a charset.
	ContentType() string

	// Encode writes v to w. If Encode returns an error, the caller must discard the bytes that Encode has written to w.
	Encode(w io.Writer, v any) error

	// Decode decodes data and stores the value in the variable that v points to. The argument v is a non-nil pointer.
	// The caller can reuse the slice data after Decode has returned, so the decoded value must not point into the
	// slice. After an error, the variable can be partly set.
	Decode(data []byte, v any) error
}

// StreamDecoder is implemented by a Codec that can decode without having the whole input in memory. If a Codec does not
// implement StreamDecoder, its caller reads the whole body and calls Decode.
type StreamDecoder interface {
	// DecodeFrom reads from r, decodes the first value and stores it in v, like Decode. DecodeFrom can read beyond the
	// end of the value.
	DecodeFrom(r io.Reader, v any) error
}

// Appender is implemented by a Codec that can append the encoding to the caller's slice. Appending avoids a copy.
type Appender interface {
	// AppendEncode appends the encoding of v to dst and returns the extended slice. If dst is too small for the next n
	// bytes, AppendEncode calls the function grow, unless grow is nil. After a call of grow, AppendEncode uses only the
	// slice that grow returned. After an error, AppendEncode returns a slice with the original contents of dst,
	// possibly in new memory.
	AppendEncode(dst []byte, v any, grow func(dst []byte, n int) []byte) ([]byte, error)
}
