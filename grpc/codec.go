package gallopgrpc

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// codecV1 makes a codec of the older kind one of the newer kind.
type codecV1 struct{ encoding.Codec }

// Marshal implements encoding.CodecV2.
func (c codecV1) Marshal(v any) (mem.BufferSlice, error) {
	b, err := c.Codec.Marshal(v)
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

// Unmarshal implements encoding.CodecV2.
func (c codecV1) Unmarshal(data mem.BufferSlice, v any) error {
	return c.Codec.Unmarshal(data.Materialize(), v)
}
