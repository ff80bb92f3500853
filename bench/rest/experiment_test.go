package rest

import (
	"io"

	json "github.com/go-json-experiment/json/v1"
)

// experiment is a Codec with the semantics of encoding/json and what will be its code.
type experiment struct{}

// ContentType implements rest.Codec.
func (experiment) ContentType() string { return "application/json" }

// Encode implements rest.Codec.
func (experiment) Encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Decode implements rest.Codec.
func (experiment) Decode(data []byte, v any) error { return json.Unmarshal(data, v) }

// DecodeFrom implements rest.Codec.
func (experiment) DecodeFrom(r io.Reader, v any) error { return json.NewDecoder(r).Decode(v) }
