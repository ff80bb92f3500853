package gallop

import (
	"io"
	"os"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// maxDrainedBody is how many bytes of a stream Body reads at most.
const maxDrainedBody = 64 << 20

// body is the part that Request and Response share: the bytes of a body, or where they come from. The zero
// value is an empty body.
//
// At most one of view, stream, writer and source is set, and len(buf) is 0 then. If none is set, the body is
// buf. After a failed read the body is empty and err is the reason.
type body struct {
	buf    []byte        // owned, from bufpool, grows with the bytes that arrive
	view   []byte        // borrowed bytes, which are never written to and never pooled
	stream io.Reader     // is read and closed exactly once
	size   int           // of stream in bytes; negative if unknown
	whole  int64         // how many bytes of stream Body reads at most; 0 means maxDrainedBody
	writer StreamWriter  // called when the message is written
	source bodySource    // the body is still on its connection
	late   *lateTrailers // where stream puts its trailers, or nil
	err    error
	formed bool // the form of its request was parsed from it
	spent  bool // it was a stream that was sent, at least in part
}

// bodySource is a body that is still on its connection. The owner of the connection implements it. A bodySource
// knows where the body ends and never reads beyond.
type bodySource interface {
	// Read streams the body. At the end and after it, Read returns io.EOF.
	io.Reader
	// readAll appends the rest of the body to dst, which grows through bufpool, within the limit for whole
	// bodies. It returns dst in either case.
	readAll(dst []byte) ([]byte, error)
	// show notes that the program has the source, and may have given it to another goroutine.
	show()
	// limit returns how many bytes the body may have if a stream replaces it and is read whole; 0 means
	// maxDrainedBody.
	limit() int64
}

// Body returns the body. The result points into the message's buffer, and is valid until the message is changed, reset
// or released. In a handler, the result is valid only until the handler returns. Do not write to the result.
//
// If the body is a stream, Body reads the stream to its end, closes the stream, and keeps the bytes. Body fails for a
// stream of more than 64 MiB. If a handler has replaced an unread request body with the stream, the size limit of the
// request body also applies. If reading fails, Body returns nil, and BodyErr returns the error.
func (b *body) Body() []byte {
	if b.view != nil {
		return b.view
	}
	if b.IsBodyStream() {
		b.load()
	}
	return b.buf
}

// bytes returns the body if it is in memory. It returns nothing if the body is a stream.
func (b *body) bytes() []byte {
	if b.view != nil {
		return b.view
	}
	return b.buf
}

// poison overwrites the memory that views of the body may refer to. The owner of borrowed bytes poisons those.
func (b *body) poison() { bufpool.PoisonBytes(b.buf[:cap(b.buf)]) }

// BodyErr returns the error that prevented the body from being read, or nil. The error stays the same until the
// message gets another body.
func (b *body) BodyErr() error { return b.err }

// load reads a stream of any kind into buf.
func (b *body) load() {
	buf := b.buf[:0]
	b.buf = nil // it may move while it grows
	limit := int64(maxDrainedBody)
	if b.whole > 0 {
		limit = min(limit, b.whole)
	}
	var err error
	switch {
	case b.source != nil:
		buf, err = b.source.readAll(buf)
		b.source = nil
	case b.stream != nil && writerTo(b.stream, nil) == nil:
		buf, err = appendStream(buf, b.stream, b.size, limit)
		err = b.closed(err)
	default:
		sink := limitedSink{buf: buf, limit: int(limit)}
		err = b.consume(&sink)
		if buf = sink.buf; sink.err != nil {
			err = sink.err // a StreamWriter does not report errors of its writes
		}
	}
	b.buf, b.spent = buf, false
	b.fail(err)
}

// fail stores err, if any, and drops the part of the body that was read.
func (b *body) fail(err error) {
	if err != nil {
		bufpool.Put(b.buf)
		b.buf, b.err = nil, err
	}
}

// SetBody sets the body to a copy of p. The argument p may be a part of the current body.
func (b *body) SetBody(p []byte) {
	b.drop()
	b.buf = appendBody(b.buf[:0], p)
}

// SetBodyString sets the body to a copy of s.
func (b *body) SetBodyString(s string) { b.SetBody(UnsafeBytes(s)) }

// SetBodyRaw sets the body to p without copying it. The argument p must not change until the message is written, reset or
// released. If p is nil, the body is empty.
func (b *body) SetBodyRaw(p []byte) {
	b.ResetBody()
	b.view = p
}

// AppendBody appends a copy of p to the body. If the body is a stream, AppendBody first reads the whole stream into
// memory; see Body.
func (b *body) AppendBody(p []byte) {
	b.own()
	b.buf = appendBody(b.buf, p)
}

// AppendBodyString appends a copy of s to the body. If the body is a stream, AppendBodyString first reads the whole
// stream into memory; see Body.
func (b *body) AppendBodyString(s string) { b.AppendBody(UnsafeBytes(s)) }

// BodyWriter returns a writer that appends to the body. The writer also implements io.StringWriter. The writer is valid
// until the message is released.
func (b *body) BodyWriter() io.Writer { return (*bodyWriter)(b) }

type bodyWriter body

func (w *bodyWriter) Write(p []byte) (int, error) {
	(*body)(w).AppendBody(p)
	return len(p), nil
}

func (w *bodyWriter) WriteString(s string) (int, error) { return w.Write(UnsafeBytes(s)) }

// SwapBody sets the body to p and returns the previous body. If the previous body is a stream, SwapBody reads the
// stream into memory first. After the call, p belongs to the message, and the result belongs to the caller.
func (b *body) SwapBody(p []byte) []byte {
	b.own()
	old := b.buf
	b.buf, b.err = p, nil
	return old
}

// ResetBody makes the body empty. If the body is a stream, ResetBody closes the stream.
func (b *body) ResetBody() {
	b.drop()
	b.buf = b.buf[:0]
}

// ReleaseBody makes the body empty and drops its buffer if the buffer's capacity in bytes exceeds the argument size. If
// the capacity does not exceed size, ReleaseBody does nothing.
func (b *body) ReleaseBody(size int) {
	if cap(b.buf) > size {
		b.buf = nil
	}
}

// own moves the body into buf.
func (b *body) own() {
	b.formed, b.spent = false, false
	if b.view != nil {
		b.buf = appendBody(b.buf[:0], b.view)
		b.view = nil
		return
	}
	b.Body()
}

// drop clears everything except buf.
func (b *body) drop() {
	b.view, b.err, b.formed, b.spent = nil, nil, false, false
	if b.IsBodyStream() {
		b.dropStream(nil)
	}
}

// shrink frees the buffer of the empty body if it is larger than keep bytes. A negative keep keeps any buffer.
func (b *body) shrink(keep int) {
	if keep >= 0 && cap(b.buf) > keep {
		bufpool.Put(b.buf)
		b.buf = nil
	}
}

// retire frees the buffer of an empty body. Race builds poison it, and also what the header has kept.
func (b *body) retire(h *header) {
	bufpool.Put(b.buf)
	b.buf = nil
	if bufpool.Poisons {
		h.poison()
	}
}

// copyBody makes dst a copy of b. It also copies the error of a body that could not be read. It does not copy a
// stream.
func (b *body) copyBody(dst *body) {
	dst.ResetBody()
	dst.buf = appendBody(dst.buf, b.view)
	dst.buf = appendBody(dst.buf, b.buf)
	dst.err = b.err
}

// appendBody appends p to dst. p may be a part of dst.
func appendBody(dst, p []byte) []byte {
	if len(p) <= cap(dst)-len(dst) {
		return append(dst, p...)
	}
	grown := bufpool.Get(max(len(dst)+len(p), 2*cap(dst)))
	grown = append(append(grown, dst...), p...)
	bufpool.Put(dst)
	return grown
}

// streamSize returns n as the size of a stream, or -1 if n is too large for an int of 32 bits. A stream of unknown size
// is sent in chunks.
func streamSize(n int64) int {
	if int64(int(n)) != n {
		return -1
	}
	return int(n)
}

// fileSection reads the part of a file that starts at at and has left bytes. It does not use the position of the file, so
// several sections of a file can be read at the same time. Where the connection allows it, the server sends the part with
// sendfile.
type fileSection struct {
	file  *os.File
	at    int64
	left  int64
	owner io.Closer // is closed instead of the file, if it is set
}

// Read implements io.Reader.
func (s *fileSection) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.file.ReadAt(p[:min(int64(len(p)), s.left)], s.at)
	s.at += int64(n)
	if s.left -= int64(n); n > 0 {
		err = nil // the next call returns it again
	}
	return n, err
}

// Close closes the file, or what owns it.
func (s *fileSection) Close() error {
	if s.owner != nil {
		return s.owner.Close()
	}
	return s.file.Close()
}

// fileAt returns the file that r reads, and the offset of the next byte. It reports false if r is something else, or if
// the file has no offsets, like a pipe.
func fileAt(r io.Reader) (file *os.File, at int64, ok bool) {
	switch r := r.(type) {
	case *os.File:
		at, err := r.Seek(0, io.SeekCurrent)
		return r, at, err == nil
	case *fileSection:
		return r.file, r.at, true
	}
	return nil, 0, false
}
