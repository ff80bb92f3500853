package rest

import (
	"io"
	"math/bits"
	"sync"

	"github.com/gallop-http/gallop/codec"
)

// Buffers are pooled by size, in powers of two, so that a large buffer never serves a small body. A buffer that
// stays unused for two garbage collections is freed. Buffers larger than maxPooled are not pooled.
const (
	minShift  = 10
	maxShift  = 20
	maxPooled = 1 << maxShift
)

// buffer is pooled memory. Its bytes must not be used after release.
type buffer struct{ b []byte }

var pools [maxShift - minShift + 1]sync.Pool

// classOf returns the index of the pool for buffers of at least size bytes. size must be ≤ maxPooled.
func classOf(size int) int {
	if size <= 1<<minShift {
		return 0
	}
	return bits.Len(uint(size-1)) - minShift
}

// getBuffer returns an empty buffer with a capacity of at least size bytes.
func getBuffer(size int) *buffer {
	if size > maxPooled {
		return &buffer{make([]byte, 0, size)}
	}
	class := classOf(size)
	if buf, ok := pools[class].Get().(*buffer); ok {
		return buf
	}
	return &buffer{make([]byte, 0, 1<<(class+minShift))}
}

// release returns the buffer to its pool. buf may be nil.
func (buf *buffer) release() {
	if buf == nil {
		return
	}
	if poisons {
		all := buf.b[:cap(buf.b)]
		for i := range all {
			all[i] = 0xDB
		}
	}
	buf.b = buf.b[:0]
	size := cap(buf.b)
	if size > maxPooled || size < 1<<minShift || size&(size-1) != 0 {
		return
	}
	pools[classOf(size)].Put(buf)
}

// grow makes room for n more bytes. It moves the content to a larger buffer if necessary.
func (buf *buffer) grow(n int) {
	need := len(buf.b) + n
	if need <= cap(buf.b) {
		return
	}
	larger := getBuffer(max(need, 2*cap(buf.b)))
	larger.b = append(larger.b, buf.b...)
	buf.b, larger.b = larger.b, buf.b
	larger.release()
}

// Write implements io.Writer.
func (buf *buffer) Write(p []byte) (int, error) {
	buf.grow(len(p))
	buf.b = append(buf.b, p...)
	return len(p), nil
}

// encode appends v, encoded by c.
func (buf *buffer) encode(c codec.Codec, v any) error {
	a, ok := c.(codec.Appender)
	if !ok {
		return c.Encode(buf, v)
	}
	text, err := a.AppendEncode(buf.b, v, func(b []byte, n int) []byte {
		buf.b = b
		buf.grow(n)
		return buf.b
	})
	buf.b = text
	return err
}

// fill reads from r until an error, which is io.EOF at the end, or until the buffer holds limit bytes.
func (buf *buffer) fill(r io.Reader, limit int) error {
	for len(buf.b) < limit {
		if len(buf.b) == cap(buf.b) {
			buf.grow(1)
		}
		n, err := r.Read(buf.b[len(buf.b):min(cap(buf.b), limit)])
		buf.b = buf.b[:len(buf.b)+n]
		if err != nil {
			return err
		}
	}
	return nil
}
