package gallop

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
)

// StreamWriter writes a body to w. The data is sent when w's buffer is full and when the StreamWriter calls w.Flush. If
// a write to w fails, the StreamWriter must return.
type StreamWriter func(w *bufio.Writer)

// BodyWriterTo is a body stream that can be consumed through WriteTo instead of Read. If SupportsBodyWriteTo returns
// true, gallop calls WriteTo. If a stream has no method SupportsBodyWriteTo, gallop may call WriteTo only if the length
// is known.
type BodyWriterTo interface {
	io.WriterTo
	SupportsBodyWriteTo() bool
}

// ReadCloserWithError is a body stream that learns why it is closed. CloseWithError is called with the reason. If the
// stream was read to its end or is not needed, err is nil. If the stream also has a Close method, Close is not called.
type ReadCloserWithError interface {
	io.Reader
	CloseWithError(err error) error
}

// IsBodyStream reports whether the body is a stream. The result is true if the program has set a stream, and also if
// the body is still arriving on the connection.
func (b *body) IsBodyStream() bool {
	return b.stream != nil || b.source != nil || b.writer != nil
}

// BodyStream returns the body as a stream. If the body is not a stream, the result is nil. CloseBodyStream closes the
// stream. The stream is also closed when the body is replaced, reset or released.
//
// If the body is a StreamWriter, BodyStream starts the StreamWriter on a separate goroutine.
func (b *body) BodyStream() io.Reader {
	if b.source != nil {
		b.source.show()
		return b.source
	}
	if b.writer != nil {
		b.stream, b.size, b.writer = NewStreamReader(b.writer), -1, nil
	}
	return b.stream
}

// CloseBodyStream closes the body if it is a stream. After CloseBodyStream, the body is empty.
func (b *body) CloseBodyStream() error { return b.dropStream(nil) }

// setStream makes r the body. A negative size means an unknown size. r may wrap a body that is still on its
// connection and that it replaces. The limit of that body then applies to reading r whole.
func (b *body) setStream(r io.Reader, size int) {
	whole := b.whole
	if b.source != nil {
		whole = b.source.limit()
	}
	b.ResetBody()
	b.stream, b.size, b.whole, b.late = r, max(size, -1), whole, nil
}

// setStreamWriter makes the output of sw the body.
func (b *body) setStreamWriter(sw StreamWriter) {
	b.ResetBody()
	b.writer, b.size = sw, -1
}

// takeStream moves the stream of src, if it has one, to b, which is empty.
func (b *body) takeStream(src *body) {
	b.stream, b.size, b.writer, b.source = src.stream, src.size, src.writer, src.source
	src.spent = src.IsBodyStream() && src.size != 0
	src.stream, src.writer, src.source = nil, nil, nil
}

// sizeRewritten is a value of body.size. The size is unknown, and the length in the header does not apply
// either.
const sizeRewritten = -2

// streamLength returns the length to announce for a stream: a number of bytes, or lengthChunked.
func (b *body) streamLength(h *header) int64 {
	if n := h.sentLength(); n >= 0 && b.size != sizeRewritten {
		return n
	}
	if b.size >= 0 {
		return int64(b.size)
	}
	return lengthChunked
}

// dropStream closes the stream and removes it. cause is the reason why it was not read to its end. A source is
// not closed, because its owner finds the end of the body.
func (b *body) dropStream(cause error) (err error) {
	r := b.stream
	b.stream, b.source, b.writer, b.whole, b.late = nil, nil, nil, 0, nil
	if r == nil {
		return nil
	}
	defer recoverStream(&err)
	switch c := r.(type) {
	case ReadCloserWithError:
		return c.CloseWithError(cause)
	case io.Closer:
		return c.Close()
	}
	return nil
}

// BodyWriteTo writes the body to w. If the body is a stream, BodyWriteTo consumes and closes the stream. A stream can
// be written only once, unless the stream was built from the request's form.
func (b *body) BodyWriteTo(w io.Writer) error {
	if s, ok := b.stream.(*writtenStream); ok && s.repeats && s.pipe == nil {
		return copyStream(w, s, b.size)
	}
	return b.consume(w)
}

// consume does the same as BodyWriteTo for callers that need the body only once.
func (b *body) consume(w io.Writer) error {
	if !b.IsBodyStream() {
		if b.err != nil {
			return b.err
		}
		_, err := w.Write(b.Body())
		return err
	}
	b.spent = b.size != 0
	var err error
	switch {
	case b.writer != nil:
		err = runStreamWriter(b.writer, w)
	case b.source != nil:
		err = copyStream(w, b.source, -1)
	default:
		err = copyStream(w, b.stream, b.size)
	}
	return b.closed(err)
}

// closed closes the stream, which ended with err. It returns err, or else the error of closing.
func (b *body) closed(err error) error {
	if cerr := b.dropStream(err); err == nil {
		err = cerr
	}
	return err
}

// writeFixed writes the stream as a body of exactly size bytes.
func (b *body) writeFixed(w *bufio.Writer, size int) error {
	if b.writer == nil {
		b.size = size
		return b.consume(w)
	}
	sink := sizedSink{w: flushingSink{w}, left: size}
	err := b.consume(&sink)
	if err == nil && sink.left > 0 {
		err = errBodyShort
	}
	return err
}

// writeRaw writes the stream as a body that ends when the connection is closed.
func (b *body) writeRaw(w *bufio.Writer) error {
	return b.consume(flushingSink{w})
}

// writeChunked writes the stream in chunks, each as soon as its data is available, and then the trailers.
func (b *body) writeChunked(w *bufio.Writer, trailers *field.List) error {
	cw := acquireChunkWriter(w)
	defer releaseChunkWriter(cw)
	if err := b.consume(cw); err != nil {
		return err
	}
	_, err := w.Write(http1.AppendLastChunk(w.AvailableBuffer(), trailers))
	return err
}

// chunkWriter writes each call of Write as one chunk and flushes it.
type chunkWriter struct {
	w    *bufio.Writer
	line [20]byte
}

var chunkWriters = sync.Pool{New: func() any { return new(chunkWriter) }}

func acquireChunkWriter(w *bufio.Writer) *chunkWriter {
	c := chunkWriters.Get().(*chunkWriter)
	c.w = w
	return c
}

func releaseChunkWriter(c *chunkWriter) {
	c.w = nil
	chunkWriters.Put(c)
}

func (c *chunkWriter) Write(p []byte) (int, error) {
	if len(p) > 0 {
		c.w.Write(http1.AppendChunkLine(c.line[:0], len(p)))
		c.w.Write(p)
		c.w.WriteString("\r\n")
	}
	if err := c.w.Flush(); err != nil { // also reports errors of earlier writes
		return 0, err
	}
	return len(p), nil
}

// flushingSink flushes after each write.
type flushingSink struct{ w *bufio.Writer }

func (s flushingSink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err == nil {
		err = s.w.Flush()
	}
	return n, err
}

// sizedSink passes on at most left bytes, or any number if open is set.
type sizedSink struct {
	w    io.Writer
	left int
	open bool
}

var sizedSinks = sync.Pool{New: func() any { return new(sizedSink) }}

// WriteString implements io.StringWriter.
func (s *sizedSink) WriteString(text string) (int, error) { return s.Write(UnsafeBytes(text)) }

func (s *sizedSink) Write(p []byte) (int, error) {
	if len(p) > s.left && !s.open {
		return 0, errBodyLong
	}
	s.left -= len(p)
	return s.w.Write(p)
}

// limitedSink collects the output of a StreamWriter, up to a limit in bytes.
type limitedSink struct {
	buf   []byte
	limit int
	err   error
}

func (s *limitedSink) Write(p []byte) (int, error) {
	if len(p) > s.limit-len(s.buf) {
		s.err = ErrBodyTooLarge
		return 0, s.err
	}
	s.buf = appendBody(s.buf, p)
	return len(p), nil
}

var streamWriterBuffers = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

// runStreamWriter calls sw with a buffer for w. If sw panics, it returns the panic as an error.
func runStreamWriter(sw StreamWriter, w io.Writer) (err error) {
	bw := streamWriterBuffers.Get().(*bufio.Writer)
	bw.Reset(w)
	defer func() {
		if v := recover(); v != nil {
			err = newStreamWritePanic(v) // bw is not reused, because sw may have passed it on
			return
		}
		bw.Reset(nil)
		streamWriterBuffers.Put(bw)
	}()
	sw(bw)
	return bw.Flush()
}

// ErrBodyStreamWritePanic is returned when a StreamWriter or the reader of a body stream panics. The text of the error
// contains the panic value.
type ErrBodyStreamWritePanic struct {
	error
	stack []byte
}

// Unwrap returns the panic value if it is an error.
func (e *ErrBodyStreamWritePanic) Unwrap() error { return errors.Unwrap(e.error) }

// recoverStream turns a panic of a program's stream into an error. Call it with defer.
func recoverStream(err *error) {
	if v := recover(); v != nil {
		*err = newStreamWritePanic(v)
	}
}

func newStreamWritePanic(v any) *ErrBodyStreamWritePanic {
	err, ok := v.(error)
	if ok {
		err = fmt.Errorf("gallop: panic while writing a body stream: %w", err)
	} else {
		err = fmt.Errorf("gallop: panic while writing a body stream: %v", v)
	}
	return &ErrBodyStreamWritePanic{err, debug.Stack()}
}

// maxEmptyReads is how often in a row a reader may return neither data nor an error.
const maxEmptyReads = 100

// appendStream appends the data of r to dst, at most limit bytes. If size is not negative, r must yield exactly
// size bytes.
func appendStream(dst []byte, r io.Reader, size int, limit int64) ([]byte, error) {
	start, empty := len(dst), 0
	for {
		dst = bufpool.Grow(dst, 1)
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch got := len(dst) - start; {
		case size >= 0 && got > size:
			return dst, errBodyLong
		case int64(got) > limit:
			return dst, ErrBodyTooLarge
		case err == io.EOF && got < size:
			return dst, errBodyShort
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst, err
		}
		if empty++; n > 0 {
			empty = 0
		}
		if empty == maxEmptyReads {
			return dst, io.ErrNoProgress
		}
	}
}

// copyStream copies r to w. If size is not negative, r must yield exactly size bytes, and no more are written.
// A file may be longer, because it may grow.
func copyStream(w io.Writer, r io.Reader, size int) (err error) {
	defer recoverStream(&err)
	if wt := writerTo(r, w); wt != nil {
		sized := sizedSinks.Get().(*sizedSink)
		*sized = sizedSink{w: w, left: size, open: size < 0}
		if _, err = wt.WriteTo(sized); err == nil && sized.left > 0 {
			err = errBodyShort
		}
		sized.w = nil
		sizedSinks.Put(sized) // unless WriteTo has panicked
		return err
	}
	if size < 0 {
		_, err = copyPieces(w, r, -1)
		return err
	}
	if f, ok := r.(*os.File); ok {
		// A file may grow while it is sent.
		if bw, ok := w.(*bufio.Writer); ok && size >= copyPiece {
			return copyFile(bw, f, size)
		}
		r = io.LimitReader(f, int64(size))
	}
	left, err := copyPieces(w, r, size)
	if err == nil && left > 0 {
		err = errBodyShort
	}
	return err
}

// writerTo returns r if a write to w may consume it through WriteTo.
func writerTo(r io.Reader, w io.Writer) io.WriterTo {
	switch r := r.(type) {
	case BodyWriterTo:
		if r.SupportsBodyWriteTo() {
			return r
		}
	case *os.File:
	case io.WriterTo:
		if _, pieces := w.(*chunkWriter); !pieces {
			return r
		}
	}
	return nil
}

// copyFile lets the connection of w take size bytes directly from f, if it can.
func copyFile(w *bufio.Writer, f *os.File, size int) error {
	if err := w.Flush(); err != nil {
		return err
	}
	n, err := w.ReadFrom(io.LimitReader(f, int64(size)))
	if err == nil && n < int64(size) {
		err = errBodyShort
	}
	return err
}

// copyPiece is the size of the pieces in which streams are copied, in bytes.
const copyPiece = 32 << 10

// copyPieces copies r to w piece by piece as data arrives. left is the number of bytes that r must yield; a
// negative number means no limit. It returns how many of these bytes are missing. The error is errBodyLong if
// there are more.
func copyPieces(w io.Writer, r io.Reader, left int) (int, error) {
	buf := bufpool.Get(copyPiece)
	defer func() { bufpool.Put(buf) }()
	bounded := left >= 0
	for empty := 0; empty < maxEmptyReads; empty++ {
		n, err := r.Read(buf[:cap(buf)])
		if bounded && n > left {
			return 0, errBodyLong
		}
		if left -= n; n > 0 {
			empty = -1
			if _, err := w.Write(buf[:n]); err != nil {
				return left, err
			}
		}
		if err == io.EOF {
			return left, nil
		}
		if err != nil {
			return left, err
		}
	}
	return left, io.ErrNoProgress
}
