package rest

import (
	"io"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
)

// RaceEnabled is whether this is a race build.
const RaceEnabled = poisons

// CredentialOf returns what tells who asks by r.
func CredentialOf(r *Request) (func() string, error) {
	x, err := r.exchange()
	return x.credentialOf, err
}

// DefaultCodec is the codec of clients without WithCodec.
var DefaultCodec = codec.JSON{KeepHTML: true, IgnoreTrailing: true}

// Decode decodes data as a client decodes a body that is in memory.
func Decode(c codec.Codec, data []byte, v any) error { return asDecodeError(c.Decode(data, v), data) }

// DecodeFrom decodes a body as a client decodes one that it does not have in memory.
func DecodeFrom(c codec.StreamDecoder, r io.Reader, v any) error {
	return asDecodeError(c.DecodeFrom(r, v), nil)
}

// DefaultClient returns the gallop.Client of a Client without WithClient and WithTransport.
func DefaultClient() *gallop.Client { return newGallopTransport(nil).client }
