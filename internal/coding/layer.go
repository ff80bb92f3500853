package coding

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// decoder undoes one coding. start begins a body at in and may read from it;
// Read then returns io.EOF where the coding says that the body is complete.
type decoder interface {
	start(in *bufio.Reader) error
	io.Reader
}

// upstream is what a layer reads from: the source or another layer. failure is
// why it stopped, and nil for the regular end, so that an error of the network or
// a limit hit further out is not taken for a corrupt body.
type upstream interface {
	io.Reader
	failure() error
}

// inputSize is enough for what is read byte by byte, heads and Huffman codes;
// decoders that want more at a time read past the buffer.
const inputSize = 4 << 10

// maxEmptyReads is how often in a row a decoder may come up with nothing.
const maxEmptyReads = 100

// layer is one coding of a Reader: its decoder, the bytes before it, and the count
// of the bytes behind it. Idle layers are in layers, by coding.
type layer struct {
	coding  Coding
	dec     decoder
	in      *bufio.Reader
	from    upstream
	reader  *Reader // whose limits and source count
	out     int64   // bytes decoded
	err     error   // sticky; io.EOF after the last byte
	started bool
	probe   [1]byte
}

var layers [codings]sync.Pool

func acquireLayer(c Coding, from upstream, r *Reader) *layer {
	l, ok := layers[c].Get().(*layer)
	if !ok {
		l = &layer{coding: c, dec: newDecoder(c), in: bufio.NewReaderSize(nil, inputSize)}
	}
	l.from, l.reader = from, r
	l.out, l.err, l.started = 0, nil, false
	l.in.Reset(from)
	return l
}

// releaseLayer gives l back, except for a br decoder that may have a large ring
// buffer: that one grows with what meta-blocks announce, and only a body that
// came to its end and was small proves that it did not.
func releaseLayer(l *layer) {
	l.from, l.reader = nil, nil
	l.in.Reset(nil)
	if l.coding == Brotli && (l.err != io.EOF || l.out > ratioFloor) {
		return
	}
	layers[l.coding].Put(l)
}

func (l *layer) failure() error {
	if l.err == io.EOF {
		return nil
	}
	return l.err
}

// Read decodes into p at most as much as the limits allow. What crosses a limit is
// not returned.
func (l *layer) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if room := l.reader.limits.MaxSize - l.out; room <= 0 {
		p = l.probe[:] // only the end may follow
	} else if int64(len(p)) > room {
		p = p[:room]
	}
	n, err := l.decode(p)
	l.out += int64(n)
	if e := l.reader.limits.check(l.reader.source.n, l.out); e != nil {
		n, err = 0, e
	}
	l.err = err
	return n, err
}

// decode reads from the decoder until there is a byte or an error, and gives the
// error its meaning.
func (l *layer) decode(p []byte) (n int, err error) {
	if !l.started {
		l.started = true
		err = l.start()
	}
	for tries := 0; n == 0 && err == nil; tries++ {
		if tries == maxEmptyReads {
			return 0, io.ErrNoProgress
		}
		n, err = l.dec.Read(p)
	}
	switch err {
	case nil:
		return n, nil
	case io.EOF:
		return n, l.finish()
	}
	return n, l.explain(err)
}

// start refuses the empty body, which some decoders take for a complete one.
func (l *layer) start() error {
	if _, err := l.in.Peek(1); err != nil && l.coding != Identity {
		return noEOF(err)
	}
	return noEOF(l.dec.start(l.in))
}

// finish returns io.EOF if nothing follows the body.
func (l *layer) finish() error {
	_, err := l.in.Peek(1)
	if e := l.from.failure(); e != nil {
		return e
	}
	if err == nil {
		return &Error{l.coding, ErrCorrupt, errTrailing}
	}
	return err
}

var errTrailing = errors.New("bytes follow its end")

// explain returns what err of the decoder comes from.
func (l *layer) explain(err error) error {
	if e := l.from.failure(); e != nil {
		return e
	}
	if err == io.ErrNoProgress {
		return err
	}
	return decodeError(l.coding, err)
}

// decodeError wraps err of a decoder that got all it asked for.
func decodeError(c Coding, err error) error {
	reason := ErrCorrupt
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		reason, err = ErrTruncated, io.ErrUnexpectedEOF
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		reason = ErrWindow
	}
	return &Error{c, reason, err}
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func newDecoder(c Coding) decoder {
	switch c {
	case Gzip:
		return &gzipDecoder{}
	case Deflate:
		return &deflateDecoder{}
	case Brotli:
		return &brotliDecoder{}
	case Zstd:
		return newZstdDecoder()
	}
	return &identityDecoder{}
}

type identityDecoder struct{ *bufio.Reader }

func (d *identityDecoder) start(in *bufio.Reader) error {
	d.Reader = in
	return nil
}

type brotliDecoder struct{ brotli.Reader }

func (d *brotliDecoder) start(in *bufio.Reader) error { return d.Reset(in) }

type zstdDecoder struct{ *zstd.Decoder }

func newZstdDecoder(options ...zstd.DOption) *zstdDecoder {
	// Concurrency 1 is what keeps the decoder from starting goroutines.
	options = append(options,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	return &zstdDecoder{must(zstd.NewReader(nil, options...))}
}

func (d *zstdDecoder) start(in *bufio.Reader) error { return d.Reset(in) }
