package coding

import (
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// encoder is what the encoders of all codings have in common.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(io.Writer)
}

// Writer encodes what is written to it. It comes from AcquireWriter, goes back
// with ReleaseWriter, and belongs to one goroutine at a time.
type Writer struct {
	enc  encoder
	out  output
	pool *sync.Pool
}

// writers holds idle Writers by coding and by level above the scale's least.
var writers [codings][maxLevels]sync.Pool

// AcquireWriter returns a Writer that writes the encoded bytes to w. A level that
// the coding does not have is its default level.
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

// ReleaseWriter takes z back; z must not be used afterwards. What was written
// since the last Flush and not closed is dropped. A nil z does nothing.
func ReleaseWriter(z *Writer) {
	if z == nil {
		return
	}
	z.out = output{}
	z.pool.Put(z)
}

// Write encodes p. Encoded bytes may be held back until Flush or Close.
func (z *Writer) Write(p []byte) (int, error) { return z.enc.Write(p) }

// Flush writes out what is held back, so that the reader can decode all that was
// written so far. It costs some bytes each time.
func (z *Writer) Flush() error { return z.enc.Flush() }

// Close writes the rest and the coding's end. It does not close the writer below.
func (z *Writer) Close() error { return z.enc.Close() }

// Reset starts a new body that goes to w, whatever became of the one before.
func (z *Writer) Reset(w io.Writer) {
	z.out = output{w: w}
	z.enc.Reset(&z.out)
}

// output is where an encoder writes: to w, or behind b without one. The encoder
// keeps its address for good, so that a Writer in a pool holds nobody's writer.
type output struct {
	w io.Writer
	b []byte
}

func (o *output) Write(p []byte) (int, error) {
	if o.w != nil {
		return writeAll(o.w, p)
	}
	o.b = append(o.b, p...)
	return len(p), nil
}

func newEncoder(c Coding, level int, out *output) encoder {
	switch c {
	case Gzip:
		return must(gzip.NewWriterLevel(out, level))
	case Deflate:
		return must(zlib.NewWriterLevel(out, level))
	case Brotli:
		return brotli.NewWriterLevel(out, level)
	case Zstd:
		return newZstdEncoder(level, out)
	}
	return &plain{out}
}

// zstdWindows are the windows by level in bytes. A stream holds one for as long as
// it lasts, so the levels that people use for answers get by with less than the
// 8 MiB that RFC 9659 §3 allows.
var zstdWindows = [...]int{1: 1 << 20, 2: 1 << 20, 3: 4 << 20, 4: maxWindow}

func newZstdEncoder(level int, out *output) *zstd.Encoder {
	return must(zstd.NewWriter(out,
		zstd.WithEncoderLevel(zstd.EncoderLevel(level)),
		zstd.WithWindowSize(zstdWindows[level]),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true)))
}

// must is for constructors that refuse unknown levels only, and those are gone.
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
