package coding

import (
	"io"
	"sync"
)

// Reader decodes what it reads from another reader, within limits. It comes from AcquireReader and is returned with
// ReleaseReader. Only one goroutine may use it at a time. It is an io.ReadCloser.
//
// Errors are permanent. They are ErrTooLarge, ErrRatio, an *Error for a body that does not match its coding, or the
// unchanged error of the underlying reader.
type Reader struct {
	limits Limits
	source source
	layers [MaxLayers]*layer // in the order in which they are undone
	n      int
	top    upstream
	closed bool
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// AcquireReader returns a Reader of the bytes of r, to which the codings of list were applied in order. It reads
// nothing before the first Read. The size limit also applies if the list is empty.
//
// Besides its output, a Reader needs memory for the windows of its codings: 32 KiB for gzip and deflate, at most 8
// MiB for zstd and at most 16 MiB for br.
func AcquireReader(list List, r io.Reader, limits Limits) *Reader {
	z := acquireReader(list, limits)
	z.source = source{r: r}
	return z
}

func acquireReader(list List, limits Limits) *Reader {
	z := readers.Get().(*Reader)
	z.limits, z.closed, z.n = limits.withDefaults(), false, 0
	z.top = &z.source
	if list.n == 0 {
		z.push(Identity)
	}
	for i := list.n; i > 0; i-- {
		z.push(list.codings[i-1])
	}
	return z
}

func (z *Reader) push(c Coding) {
	l := acquireLayer(c, z.top, z)
	z.layers[z.n] = l
	z.top = l
	z.n++
}

// ReleaseReader closes z and returns it to the pool. z must not be used afterwards. A nil z does nothing.
func ReleaseReader(z *Reader) {
	if z == nil {
		return
	}
	z.Close()
	readers.Put(z)
}

// Read reads decoded bytes. It returns io.EOF only after the codings have verified that the body is complete and that
// nothing follows it.
func (z *Reader) Read(p []byte) (int, error) {
	if z.closed {
		return 0, ErrClosed
	}
	return z.top.Read(p)
}

// Close releases what z needs for decoding, at the end of the body or before. It does not close the underlying
// reader. It may be called more than once, and always returns nil. A Reader that is closed but never released is
// garbage collected, which costs little.
func (z *Reader) Close() error {
	if z.closed {
		return nil
	}
	z.closed = true
	for i, l := range z.layers[:z.n] {
		releaseLayer(l)
		z.layers[i] = nil
	}
	z.n, z.top, z.source = 0, nil, source{}
	return nil
}

// source is the input of all layers. It counts what was read, for the ratio, and remembers the error.
type source struct {
	r     io.Reader
	n     int64
	whole bool // n is the size of the whole body, which is known from the start
	err   error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if !s.whole {
		s.n += int64(n)
	}
	s.err = err
	return n, err
}

func (s *source) failure() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
}
