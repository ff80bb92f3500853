package gallop

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// StreamResponse starts the response and returns a ResponseStream. The handler writes the response body to the
// ResponseStream. The handler must not return before the body is complete. If ctx.Response already has a body, the
// server sends that body first. The server sends the response header together with the first data. To send the header
// earlier, call Flush. If StreamResponse is called again, it returns the same stream.
//
// If the response header has a Content-Length, the handler must write exactly that many bytes. Without a
// Content-Length, HTTP/1.1 sends the body in chunks. For an HTTP/1.0 client, or after
// Header.SetContentLength(LengthUntilClose), the server ends the body by closing the connection. After StreamResponse,
// the handler may still declare trailers with ResponseHeader.AddTrailer and set their values. The server sends the
// trailers when the handler returns. After StreamResponse, other changes to ctx.Response have no effect.
//
// If the handler panics or writes fewer bytes than Content-Length says, the server closes the connection. If the client
// could mistake the close for the end of the body, the server resets the connection instead. The reset shows the client
// that the body is truncated. Over HTTP/2, the server resets only the request's stream.
//
// After StreamResponse, the handler can still read the request body, even while another goroutine writes the response.
// After StreamResponse, the server no longer sends 100 (Continue). If more than 256 KiB of the request body are unread,
// the response announces that the server will close the connection. If the request body is chunked, the server first
// reads up to 256 KiB of the body, for at most one second. A handler that reads the request body while it writes the
// response should set ctx.Request.FullDuplex before it calls StreamResponse. With FullDuplex, the server does not read
// ahead, and the connection stays open if the handler reads the whole body.
//
// StreamResponse fails if Hijack was called, if the response body is already a stream, or if the request has timed out.
// For a request that is not served by a Server, StreamResponse works only after the program has called InitStream, as
// nethttp.ToHTTP does. Without InitStream, the error wraps errors.ErrUnsupported.
func (ctx *RequestCtx) StreamResponse() (*ResponseStream, error) {
	s := ctx.output()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ex != nil || s.away != nil {
		return s, nil
	}
	s.given = true
	x, err := ctx.owned(s)
	away := err == errNotServed && ctx.openStream != nil
	if (err == nil || away) && (ctx.hijackHandler != nil || ctx.Response.IsBodyStream()) {
		return nil, errStreamOther
	}
	if away {
		var body FlushWriter
		if body, err = ctx.openStream(); err == nil {
			s.away = body
			return s, nil
		}
	}
	if err != nil {
		return nil, err
	}
	s.begin(x)
	return s, nil
}

// FlushWriter writes the body of a streamed response for a request that is not served by a Server. See
// [RequestCtx.InitStream].
type FlushWriter interface {
	io.Writer

	// Flush sends all data written so far.
	Flush() error
}

// InitStream makes StreamResponse work for a request that is not served by a Server. InitStream is meant for programs
// that serve requests without a Server. StreamResponse calls open, which must send the header of ctx.Response, followed
// by the body of ctx.Response if there is one. After the handler has returned, all methods of the FlushWriter must
// return errors.
func (ctx *RequestCtx) InitStream(open func() (FlushWriter, error)) { ctx.openStream = open }

// Streaming reports whether StreamResponse has started the response.
func (ctx *RequestCtx) Streaming() bool {
	s := ctx.stream.Load()
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ex != nil || s.away != nil
}

// output returns the stream of the response. It is an object of its own, because the program may keep it beyond the request, and
// RequestCtx serves other requests.
func (ctx *RequestCtx) output() *ResponseStream {
	if s := ctx.stream.Load(); s != nil {
		return s
	}
	ctx.stream.CompareAndSwap(nil, new(ResponseStream))
	return ctx.stream.Load()
}

// streams reports whether the response has begun as a stream, and is not complete.
func (ctx *RequestCtx) streams() bool {
	s := ctx.stream.Load()
	return s != nil && s.ex != nil
}

// owned returns the exchange, if the handler may write to its wire. s is the stream of the response, and is locked.
func (ctx *RequestCtx) owned(s *ResponseStream) (*exchange, error) {
	switch {
	case s.left:
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, context.DeadlineExceeded
	case ctx.ex == nil:
		return nil, errNotServed
	case ctx.ex.isTaken():
		return nil, errTaken
	}
	return ctx.ex, nil
}

// ownedConn returns the exchange, if the handler may take its connection. s is the stream of the response, and is locked.
func (ctx *RequestCtx) ownedConn(s *ResponseStream) (*exchange, error) {
	x, err := ctx.owned(s)
	if err == nil && x.h2 != nil {
		return nil, errShared
	}
	return x, err
}

// ResponseStream is a response body that the server sends while the handler is still writing the body. See
// [RequestCtx.StreamResponse]. Do not use a ResponseStream after the handler has returned. Only one goroutine at a time
// may call the methods of a ResponseStream.
type ResponseStream struct {
	mu   sync.Mutex  // held by the goroutine that uses the output while a handler runs
	ex   *exchange   // nil before the head was written, and after the end
	away FlushWriter // of another server; nil before the head was written
	sink streamSink
	buf  []byte // of the next chunk
	none bool   // there is no body on the wire
	sent bool   // Flush was called, and nothing was written since then
	left bool   // the server is at the output itself

	given bool // the program has it, and may keep it, so it serves a single request
}

// streamGather is how many bytes of a body are gathered in one chunk.
const streamGather = 4 << 10

// begin writes the head. s is locked.
func (s *ResponseStream) begin(x *exchange) {
	replaced := x.correct()
	resp := &x.ctx.Response
	if replaced {
		x.closeAfter()
		resp.Header.SetContentLength(len(resp.body.bytes()))
	}
	s.none = !resp.mayHaveBody() || x.opensTunnel()
	s.ex, s.sink = x, x.beginStream(s.none)
	s.put(resp.body.bytes())
	s.none = s.none || replaced // what is written was meant for another response
}

// Write writes p to the body. If the response has no body, as for a HEAD request, Write discards p.
func (s *ResponseStream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.put(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteString writes p to the body. See [ResponseStream.Write].
func (s *ResponseStream) WriteString(p string) (int, error) { return s.Write(UnsafeBytes(p)) }

func (s *ResponseStream) put(p []byte) error {
	switch {
	case s.away != nil:
		_, err := s.away.Write(p)
		return err
	case s.ex == nil:
		return errStreamOver
	case s.none || len(p) == 0:
		return s.sink.err()
	}
	s.sent = false
	if !s.sink.gathers() {
		return s.sink.put(p)
	}
	if len(s.buf)+len(p) > streamGather {
		if err := s.emit(); err != nil {
			return err
		}
	}
	if len(p) >= streamGather {
		return s.sink.put(p)
	}
	if s.buf == nil {
		s.buf = bufpool.Get(streamGather)
	}
	s.buf = append(s.buf, p...)
	return s.sink.err()
}

// emit makes a chunk of what was gathered.
func (s *ResponseStream) emit() error {
	if len(s.buf) == 0 {
		return s.sink.err()
	}
	err := s.sink.put(s.buf)
	s.buf = s.buf[:0]
	return err
}

// Flush sends the header and all data written so far.
func (s *ResponseStream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		return s.away.Flush()
	}
	if s.ex == nil {
		return errStreamOver
	}
	if s.sent {
		return s.sink.err()
	}
	s.sent = true
	if err := s.emit(); err != nil {
		return err
	}
	return s.sink.flush()
}

// ReadFrom copies data from r to the body until r returns io.EOF. If r is a file and the response has a Content-Length,
// ReadFrom uses sendfile on systems that support it.
func (s *ResponseStream) ReadFrom(r io.Reader) (n int64, err error) {
	if n, err, ok := s.sendFile(r); ok {
		return n, err
	}
	buf := bufpool.Get(streamBuffer)
	defer bufpool.Put(buf)
	for empty := 0; empty < maxEmptyReads; empty++ {
		k, err := r.Read(buf[:streamBuffer])
		if k > 0 {
			empty = -1
			if _, err := s.Write(buf[:k]); err != nil {
				return n, err
			}
			n += int64(k)
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, io.ErrNoProgress
}

// SendFile is ReadFrom for a file, if ok.
func (s *ResponseStream) sendFile(r io.Reader) (n int64, err error, ok bool) {
	limited, _ := r.(*io.LimitedReader)
	if limited != nil {
		r = limited.R
	}
	file, _ := r.(*os.File)
	if file == nil {
		return 0, nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ex == nil || s.sink.o == nil || s.none || s.sink.left <= 0 || s.sink.o.Err != nil {
		return 0, nil, false
	}
	to, isReaderFrom := s.ex.wire.NC.(io.ReaderFrom)
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || !isReaderFrom {
		return 0, nil, false
	}
	at, err := file.Seek(0, io.SeekCurrent)
	if err != nil || info.Size() <= at { // or it has no size, as in /proc; Output.SendFile would hold back the head
		return 0, nil, false
	}
	want := s.sink.left
	if limited != nil {
		want = min(want, max(limited.N, 0))
	}
	s.sent = false
	n, err = s.sink.o.SendFile(to, file, at, want)
	s.sink.left -= n
	if _, serr := file.Seek(at+n, io.SeekStart); err == nil {
		err = serr // the caller may read on from there
	}
	if limited != nil {
		limited.N -= n
	}
	if err == io.ErrUnexpectedEOF { // the file ends before what may be sent does
		err = nil
	}
	return n, err, true
}

// finish ends the body, once the handler has returned.
func (s *ResponseStream) finish() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.end()
	if err := s.emit(); err != nil {
		return err
	}
	if !s.none && s.sink.left > 0 {
		s.sink.flush()
		return &streamError{errBodyShort}
	}
	return s.sink.finish(&s.ex.ctx.Response.Header.trailers, s.none)
}

// abort breaks the response off. It first sends what the stream has gathered, so that the
// client sees how far the response got.
func (s *ResponseStream) abort(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ex != nil {
		s.emit()
	}
	x.flushOutput()
	s.end()
}

// end gives back what the stream holds. s is locked.
func (s *ResponseStream) end() {
	bufpool.Release(&s.buf)
	s.ex, s.sink, s.none, s.sent = nil, streamSink{}, false, false
}

// leave takes the output from a handler that may still run, and reports whether the
// response has begun. A write that waits for the client is interrupted then, since
// nothing can follow it.
func (s *ResponseStream) leave(x *exchange) (begun bool) {
	if !s.mu.TryLock() {
		x.cutWriting(s.mu.Lock)
	}
	defer s.mu.Unlock()
	begun = s.ex != nil
	s.left = true
	s.end()
	return begun
}
