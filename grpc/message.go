package gallopgrpc

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A message starts with a byte that is 1 if the message is compressed, and its length as four bytes.
const prefixLen = 5

// parsePrefix parses the prefix of a message. b has at least prefixLen bytes.
func parsePrefix(b []byte) (flag byte, n uint32) { return b[0], binary.BigEndian.Uint32(b[1:]) }

// checkPrefix returns an error if a message with this prefix cannot be received.
func (c *call) checkPrefix(flag byte, n uint32) error {
	switch {
	case flag > 1:
		return status.Errorf(codes.Internal, "a message has the unknown flags %#x", flag)
	case flag == 1 && (c.encoding == "" || c.encoding == encoding.Identity):
		return status.Error(codes.Internal, "a message is compressed, but the request has no grpc-encoding")
	case int64(n) > int64(c.s.maxRecv):
		return tooLarge("received", int64(n), c.s.maxRecv)
	}
	return nil
}

func tooLarge(done string, n int64, limit int) error {
	return status.Errorf(codes.ResourceExhausted, "%s a message of %d bytes, which is larger than the limit of %d bytes", done, n, limit)
}

// decode decodes a message into v.
func (c *call) decode(flag byte, p []byte, v any) (size int, err error) {
	if flag == 1 {
		if p, err = c.decompress(p); err != nil {
			return 0, err
		}
	}
	if m, ok := v.(proto.Message); ok && c.plain {
		err = proto.Unmarshal(p, m)
	} else {
		if flag == 0 { // a codec may keep the buffer
			p = bytes.Clone(p)
		}
		err = c.codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(p)}, v)
	}
	if err != nil {
		return 0, status.Errorf(codes.Internal, "decoding a message: %v", err)
	}
	return len(p), nil
}

// decompress decompresses a message within the limit.
func (c *call) decompress(p []byte) ([]byte, error) {
	r, err := c.decomp.Decompress(bytes.NewReader(p))
	if err != nil {
		return nil, status.Errorf(codes.Internal, "decompressing a message: %v", err)
	}
	if closer, ok := r.(io.Closer); ok {
		defer closer.Close()
	}
	limit := int64(c.s.maxRecv)
	if limit < math.MaxInt64 {
		r = io.LimitReader(r, limit+1)
	}
	out, err := io.ReadAll(r)
	switch {
	case err != nil:
		return nil, status.Errorf(codes.Internal, "decompressing a message: %v", err)
	case int64(len(out)) > limit:
		return nil, status.Errorf(codes.ResourceExhausted, "a message is larger than the limit of %d bytes after decompression", limit)
	}
	return out, nil
}

// appendMessage appends a message with its prefix. size is the size before compression.
func (c *call) appendMessage(dst []byte, v any, comp encoding.Compressor) (_ []byte, size int, err error) {
	at := len(dst)
	var flag byte
	if comp == nil {
		dst, err = c.encode(append(dst, make([]byte, prefixLen)...), v)
		size = len(dst) - at - prefixLen
	} else {
		dst, size, flag, err = c.encodeCompressed(append(dst, make([]byte, prefixLen)...), v, comp)
	}
	if err != nil {
		if _, ok := status.FromError(err); !ok {
			err = status.Errorf(codes.Internal, "encoding a message: %v", err)
		}
		return dst[:at], 0, err
	}
	n := len(dst) - at - prefixLen
	if n > c.s.maxSend || int64(n) > math.MaxUint32 {
		return dst[:at], 0, tooLarge("tried to send", int64(n), c.s.maxSend)
	}
	dst[at] = flag
	binary.BigEndian.PutUint32(dst[at+1:], uint32(n))
	return dst, size, nil
}

// encode appends v.
func (c *call) encode(dst []byte, v any) ([]byte, error) {
	if m, ok := v.(proto.Message); ok && c.plain {
		return proto.MarshalOptions{}.MarshalAppend(dst, m)
	}
	data, err := c.codec.Marshal(v)
	if err != nil {
		return dst, err
	}
	defer data.Free()
	for _, b := range data {
		dst = append(dst, b.ReadOnlyData()...)
	}
	return dst, nil
}

// encodeCompressed appends v compressed, unless it is empty.
func (c *call) encodeCompressed(dst []byte, v any, comp encoding.Compressor) (_ []byte, size int, flag byte, err error) {
	raw, err := c.encode(nil, v)
	if err != nil || len(raw) == 0 {
		return dst, 0, 0, err
	}
	out := bytes.NewBuffer(dst)
	w, err := comp.Compress(out)
	if err != nil {
		return dst, 0, 0, err
	}
	if _, err := w.Write(raw); err != nil {
		return dst, 0, 0, err
	}
	if err := w.Close(); err != nil {
		return dst, 0, 0, err
	}
	return out.Bytes(), len(raw), 1, nil
}
