package coding

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// decoder undoes one coding. start begins a body at in and may read from it. Read returns io.EOF when the body is
// complete according to its coding.
type decoder interface {
	start(in *bufio.Reader) error
	io.Reader
}

// upstream is the input of a layer: the source or another layer. failure returns why it stopped, or nil at the
// regular end. So an error of the network, or a limit of an outer layer, is not mistaken for a corrupt body.
type upstream interface {
	io.Reader
	failure() error
}

// inputSize is enough for headers and Huffman codes, which are read byte by byte. Decoders that read more at a time
// bypass the buffer.
const inputSize = 4 << 10

// maxEmptyReads is how many reads in a row may return nothing.
const maxEmptyReads = 100

// layer is one coding of a Reader: its decoder, its input, and the number of bytes it has decoded. Idle layers are in
// layers, by coding.
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

// releaseLayer returns l to its pool, except for a br decoder that may have a large ring buffer. The buffer grows
// with the lengths that meta-blocks announce. Only a small body that was read to the end proves that the buffer is
// small.
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

// Read decodes into p as much as the limits allow. It does not return bytes beyond a limit.
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

// decode calls the decoder until it returns a byte or an error, and converts the error.
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

// start refuses an empty body, which some decoders consider complete.
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

// explain returns the cause of an error of the decoder.
func (l *layer) explain(err error) error {
	if e := l.from.failure(); e != nil {
		return e
	}
	if err == io.ErrNoProgress {
		return err
	}
	return decodeError(l.coding, err)
}

// decodeError wraps an error of a decoder that got all input that it asked for.
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
	// Concurrency 1 keeps the decoder from starting goroutines.
	options = append(options,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	return &zstdDecoder{must(zstd.NewReader(nil, options...))}
}

func (d *zstdDecoder) start(in *bufio.Reader) error { return d.Reset(in) }
