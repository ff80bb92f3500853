package coding

import (
	"io"
	"sync"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// encoder is the common interface of all encoders.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(io.Writer)
}

// Writer encodes what is written to it. It comes from AcquireWriter and is returned with ReleaseWriter. Only one
// goroutine may use it at a time.
type Writer struct {
	enc  encoder
	out  output
	pool *sync.Pool
}

// writers holds idle Writers by coding and by level, counted from the lowest level of the scale.
var writers [codings][maxLevels]sync.Pool

// AcquireWriter returns a Writer that writes the encoded bytes to w. A level that the coding does not have is
// replaced by the default level.
func AcquireWriter(c Coding, level int, w io.Writer) *Writer {
	z := acquireWriter(c, level)
	z.Reset(w)
	return z
}

func acquireWriter(c Coding, level int) *Writer {
	level = c.clamp(level)
	pool := &writers[c][level-scales[c].least]
	if z, ok := pool.Get().(*Writer); ok {
		return z
	}
	z := &Writer{pool: pool}
	z.enc = newEncoder(c, level, &z.out)
	return z
}

// ReleaseWriter returns z to the pool. z must not be used afterwards. Data written after the last Flush is dropped
// unless z was closed. A nil z does nothing.
func ReleaseWriter(z *Writer) {
	if z == nil {
		return
	}
	if z.out.w != nil {
		bufpool.Put(z.out.b)
	}
	z.out = output{}
	z.pool.Put(z)
}

// Write encodes p. Encoded bytes may be buffered until Flush or Close.
func (z *Writer) Write(p []byte) (int, error) { return z.enc.Write(p) }

// Flush writes all buffered bytes, so the reader can decode everything written so far. Each Flush makes the output a
// few bytes longer.
func (z *Writer) Flush() error {
	if err := z.enc.Flush(); err != nil {
		return err
	}
	return z.out.send()
}

// Close writes the rest and the end of the coding. It does not close the underlying writer.
func (z *Writer) Close() error {
	if err := z.enc.Close(); err != nil {
		return err
	}
	return z.out.send()
}

// Reset starts a new body that goes to w, regardless of the state of the previous one.
func (z *Writer) Reset(w io.Writer) {
	z.out = output{w: w, b: z.out.b[:0]}
	z.enc.Reset(&z.out)
}

// outputSize is how many bytes an output collects for its writer.
const outputSize = 8 << 10

// output is the destination of an encoder: w, or b if w is nil. With w, b collects what encoders write in small pieces, so
// that a flush is one write. The encoder keeps the address of the output, so a pooled Writer does not hold on to a
// caller's writer.
type output struct {
	w   io.Writer
	b   []byte
	err error // of w
}

func (o *output) Write(p []byte) (int, error) {
	if o.w == nil {
		o.b = append(o.b, p...)
		return len(p), nil
	}
	if len(o.b)+len(p) > outputSize {
		if err := o.send(); err != nil {
			return 0, err
		}
		if len(p) > outputSize {
			return writeAll(o.w, p)
		}
	}
	if o.b == nil {
		o.b = bufpool.Get(min(len(p), outputSize))
	}
	o.b = append(o.b, p...)
	return len(p), nil
}

// send writes what was collected.
func (o *output) send() error {
	if o.w == nil || len(o.b) == 0 || o.err != nil {
		return o.err
	}
	_, o.err = writeAll(o.w, o.b)
	o.b = o.b[:0]
	return o.err
}

func newEncoder(c Coding, level int, out *output) encoder {
	switch c {
	case Gzip:
		return must(gzip.NewWriterLevel(out, level))
	case Deflate:
		return must(zlib.NewWriterLevel(out, level))
	case Brotli:
		return newBrotliEncoder(level, out)
	case Zstd:
		return newZstdEncoder(level, out)
	}
	return &plain{out}
}

// zstdWindows are the window sizes in bytes by level. A stream holds a window as long as it lasts. The levels that
// are common for responses therefore use less than the 8 MiB that RFC 9659 §3 allows.
var zstdWindows = [...]int{1: 1 << 20, 2: 1 << 20, 3: 4 << 20, 4: maxWindow}

func newZstdEncoder(level int, out *output) *zstd.Encoder {
	return must(zstd.NewWriter(out,
		zstd.WithEncoderLevel(zstd.EncoderLevel(level)),
		zstd.WithWindowSize(zstdWindows[level]),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true)))
}

// must panics on errors of constructors that only fail for unknown levels, which were replaced before.
func must[E any](enc E, err error) E {
	if err != nil {
		panic("coding: " + err.Error())
	}
	return enc
}

// plain is the encoder of Identity.
type plain struct{ w io.Writer }

func (p *plain) Write(b []byte) (int, error) { return p.w.Write(b) }
func (p *plain) Flush() error                { return nil }
func (p *plain) Close() error                { return nil }
func (p *plain) Reset(w io.Writer)           { p.w = w }
