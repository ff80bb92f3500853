package rest

import (
	"io"
	"math/bits"
	"sync"

	"github.com/gallop-http/gallop/codec"
)

// Buffers are in pools by their size, a power of two each, so that a large body does not
// stay in the place of small ones: what nobody asked for during two collections of garbage
// is the runtime's again. Larger ones than maxPooled are not kept.
const (
	minShift  = 10
	maxShift  = 20
	maxPooled = 1 << maxShift
)

// buffer is memory that is lent. Its bytes must not be looked at after release.
type buffer struct{ b []byte }

var pools [maxShift - minShift + 1]sync.Pool

// classOf returns the pool for buffers of at least size bytes, size ≤ maxPooled.
func classOf(size int) int {
	if size <= 1<<minShift {
		return 0
	}
	return bits.Len(uint(size-1)) - minShift
}

// getBuffer returns an empty buffer with room for size bytes.
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

// release gives the buffer back; nil is none.
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

// grow makes room for n more bytes in memory of the next class that has it.
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

// encode appends what c encodes v as.
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

// fill reads until the end of r, which is io.EOF, or until there are limit bytes.
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
