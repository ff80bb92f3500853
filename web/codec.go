package web

import "encoding/json"

// Codec encodes and decodes a format. Its methods may be called by any number of goroutines
// at once, and may not keep the bytes; those that Marshal returns are the caller's.
type Codec interface {
	Marshal(v any) ([]byte, error)
	Unmarshal(data []byte, v any) error
}

// stdJSON is encoding/json.
type stdJSON struct{}

func (stdJSON) Marshal(v any) ([]byte, error)      { return json.Marshal(v) }
func (stdJSON) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }
