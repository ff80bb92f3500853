package coding

import (
	"io"
	"sync"
)

// Reader decodes what it reads from another reader, within limits. It comes from
// AcquireReader, goes back with ReleaseReader, and belongs to one goroutine at a
// time. It is an io.ReadCloser.
//
// Errors stick. They are ErrTooLarge, ErrRatio, an *Error for a body that is not
// in its coding, or what the reader below returned, as it is.
type Reader struct {
	limits Limits
	source source
	layers [MaxLayers]*layer // in the order they are undone
	n      int
	top    upstream
	closed bool
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// AcquireReader returns a Reader for the bytes of r, on which the codings of list
// were applied in order. Nothing is read before the first Read. The size limit
// holds for the empty list as well.
//
// Up to the output's own size apart, a Reader needs the window of its codings:
// 32 KiB for gzip and deflate, 8 MiB for zstd and 16 MiB for br at the most.
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

// ReleaseReader closes z and takes it back; z must not be used afterwards. A nil
// z does nothing.
func ReleaseReader(z *Reader) {
	if z == nil {
		return
	}
	z.Close()
	readers.Put(z)
}

// Read reads decoded bytes. io.EOF comes only after the codings have checked that
// the body is whole and that nothing follows it.
func (z *Reader) Read(p []byte) (int, error) {
	if z.closed {
		return 0, ErrClosed
	}
	return z.top.Read(p)
}

// Close gives back what z needs for decoding, at the end of the body or before
// it. It does not close the reader below. It may be called more than once; there
// is no error. A Reader that is closed and never released is left to the garbage
// collector, at little loss.
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

// source is the reader below all layers. It counts what was read, for the ratio,
// and remembers the error.
type source struct {
	r     io.Reader
	n     int64
	whole bool // n is the size of the whole body, known from the start
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
