package gallop

import (
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// respond writes the response that the handler has left in ctx, and reads what the
// handler has left of the request.
func (c *serverConn) respond() error {
	ctx := &c.ctx
	if ctx.stream.ex != nil {
		return c.endStream()
	}
	c.limitWriting()
	if ctx.hijackHandler != nil && ctx.hijackNoResponse {
		return nil
	}
	c.decideClose()
	if err := c.writeResponse(); err != nil {
		return err
	}
	c.body.sever()
	c.stopWatching() // a stream may have begun to
	if !c.close && ctx.hijackHandler == nil && !c.body.drain() {
		c.close = true
	}
	return nil
}

// endStream ends a response that the handler has written, and reads what it has left of
// the request.
func (c *serverConn) endStream() error {
	c.body.sever()
	if err := c.ctx.stream.finish(); err != nil {
		return err
	}
	if !c.close && !c.body.drain() {
		c.close = true
	}
	return nil
}

// decideClose settles whether the connection ends with this response.
func (c *serverConn) decideClose() {
	s, ctx := c.srv, &c.ctx
	if !c.keepAlive || ctx.Response.Header.saysClose(c.http10) ||
		s.DisableKeepalive || s.stopping.Load() ||
		s.MaxRequestsPerConn > 0 && c.requests >= uint64(s.MaxRequestsPerConn) {
		c.close = true
	}
}

// limitWriting gives what is written from now on the time that a response has.
func (x *exchange) limitWriting() { x.wire.output.limitTo(x.writeLimit) }

// correct sees to it that the client does not take what follows the response for
// something else than it is, and reports whether that took another response.
func (x *exchange) correct() (replaced bool) {
	ctx := &x.ctx
	resp := &ctx.Response
	if ctx.hijackHandler == nil {
		switch status := resp.StatusCode(); {
		case x.method == message.Connect && status/100 == 2:
			// It would tell the client that a tunnel begins, RFC 9110 §9.3.6.
			ctx.Error(StatusMessage(StatusNotImplemented), StatusNotImplemented)
			replaced = true
		case status < StatusOK:
			// It would go on waiting, RFC 9110 §15.2, or speak another protocol.
			c := x.wire
			c.srv.log.write(&logEvent{level: slog.LevelError, text: "the handler answered with a status that is not final",
				remote: c.nc.RemoteAddr(), conn: c.id, status: status}, "the handler answered %d, which is not final", status)
			ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
			replaced = true
		}
		if resp.SkipBody && x.method != message.HeadMethod {
			resp.ResetBody()
			resp.SkipBody = false
		}
	}
	resp.SkipBody = resp.SkipBody || x.method == message.HeadMethod
	return replaced
}

// opensTunnel reports whether what follows the head of the response is a tunnel.
func (x *exchange) opensTunnel() bool {
	return x.method == message.Connect && x.ctx.Response.StatusCode()/100 == 2
}

// writeResponse writes head and body of ctx.Response.
func (c *serverConn) writeResponse() error {
	if c.correct() {
		c.close = true
	}
	resp := &c.ctx.Response
	o := &c.output
	if c.awaits100 && resp.IsBodyStream() {
		c.continueNow()
	}
	c.foresee()
	mark, flushes := len(o.buf), o.flushes
	tunnel := c.opensTunnel()
	hasBody := resp.mayHaveBody() && !tunnel
	if hasBody && resp.body.err != nil {
		return c.takeBack(mark, resp.body.err)
	}
	out := c.outgoing(c.date())
	if out.length = lengthNone; !tunnel {
		resp.frame(&out, c.http10 || resp.Header.sentMinor() == 0)
	}
	if hasBody && out.length == lengthUntilClose && c.ctx.hijackHandler == nil {
		c.beginUnframed()
	}
	c.writeHead(&out)
	if !hasBody {
		resp.CloseBodyStream()
		return o.err
	}
	if !resp.IsBodyStream() {
		return o.write(resp.body.bytes())
	}
	o.now = time.Time{} // the stream may take its time
	if resp.ImmediateHeaderFlush {
		o.flush() // an error is what the stream meets with, too
	}
	err := c.writeStream(out.length)
	if err == nil {
		return o.err
	}
	if o.flushes == flushes {
		return c.takeBack(mark, err)
	}
	o.flush() // what there is, so that the client sees how far it went
	if o.err != nil {
		return o.err // and the stream had to end
	}
	return &streamError{err}
}

// continueNow says 100, if it may be that the stream which is the response's body reads that
// of the request: behind the head it is too late for it. If nobody can read it, then the
// client may, or may not, send it.
func (c *serverConn) continueNow() {
	c.awaits100 = false
	if h := c.body.handle; h == nil || !h.shown.Load() {
		c.close = true
		return
	}
	c.output.appendString(continueResponse)
}

// continueResponse invites the client to send the body.
const continueResponse = "HTTP/1.1 100 Continue\r\n\r\n"

// outgoing is what the server adds to every head that is sent now.
func (x *exchange) outgoing(now time.Time) outgoing {
	s := x.server
	out := outgoing{
		server:             s.set.server,
		defaultContentType: !s.NoDefaultContentType,
	}
	if !s.NoDefaultDate {
		out.date = now
	}
	return out
}

// writeHead writes the head of ctx.Response.
func (c *serverConn) writeHead(out *outgoing) {
	resp := &c.ctx.Response
	c.close = c.close || out.close
	out.close = c.close && (!c.http10 || resp.Header.hasToSayClose())
	out.keepAlive = !c.close && (c.http10 || resp.Header.head.Flags&message.ConnectionKeepAlive != 0) // said by the handler
	if c.ctx.hijackHandler != nil && (c.opensTunnel() || resp.StatusCode() == StatusSwitchingProtocols) {
		out.close, out.keepAlive = false, false // it goes on, as something else
	}
	if !out.date.IsZero() {
		out.usual = c.srv.starts.at(out.date, out.server)
	}
	o := &c.output
	o.buf = resp.Header.appendHead(o.room(headRoom+resp.Header.head.Fields.Size()), out)
}

// date is the time of the response. With further requests at hand, for which one look
// at the clock has to do, it is that of the last bytes read.
func (c *connection) date() time.Time {
	if ended := c.loop.ended; !ended.IsZero() {
		c.loop.ended = time.Time{}
		return ended
	}
	if c.input.empty() && !c.loop.leads() {
		now := c.now.Add(time.Since(c.now)) // half as dear as time.Now
		if c.loop.conn == nil {             // those of a loop look at the clock when they have to wait
			c.output.now = now
		}
		return now
	}
	return c.now
}

// headRoom is what the fields that the server adds take at most, in most cases.
const headRoom = 256

// takeBack takes a response of which nothing was sent yet out of the output from mark
// on, and puts a 500 in its place.
func (c *serverConn) takeBack(mark int, err error) error {
	c.srv.log.connection(c.nc.RemoteAddr(), c.id, &streamError{err}, true)
	c.output.buf = c.output.buf[:mark]
	c.ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
	c.ctx.hijackHandler = nil
	c.close = true
	return c.writeResponse()
}

// writeStream writes the stream that is the response's body: length bytes, or
// chunks, or all there is up to the end of the connection.
func (c *serverConn) writeStream(length int64) error {
	b := &c.ctx.Response.body
	sink := streamSink{o: &c.output, chunked: length == lengthChunked, left: length}
	var err error
	if b.writer != nil {
		err = sink.lend(func(w io.Writer) error { return runStreamWriter(b.writer, w) })
	} else {
		err = sink.copyFrom(b.stream)
	}
	if err == nil && length > 0 && sink.left > 0 {
		err = errBodyShort
	}
	if cerr := b.dropStream(err); err == nil {
		err = cerr
	}
	if err == nil && sink.chunked {
		o := &c.output
		o.buf = http1.AppendLastChunk(o.room(headRoom), &c.ctx.Response.Header.trailers)
	}
	return err
}

// streamError wraps what ended a response in the middle of its body. The client
// learns of it by the end of the connection.
type streamError struct{ err error }

func (e *streamError) Error() string { return "response body: " + e.err.Error() }
func (e *streamError) Unwrap() error { return e.err }

// streamSink writes the body of a response that comes from a stream. Write flushes at
// once, because the server cannot know when the stream will write more.
type streamSink struct {
	o       *output
	chunked bool
	left    int64 // of a body with a known length
}

func (s *streamSink) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, s.o.err
	}
	if err := s.put(p); err != nil {
		return 0, err
	}
	if err := s.o.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// lentSink is a streamSink that a program writes to. The program may keep it, so it is cut off when the body has ended.
type lentSink struct {
	mu   sync.Mutex
	sink streamSink // has no output any more when it is cut off
}

// lend calls f, which writes the body to w. Later writes to w fail.
func (s *streamSink) lend(f func(w io.Writer) error) error {
	l := &lentSink{sink: *s}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		*s, l.sink.o = l.sink, nil
	}()
	return f(l)
}

// Write implements io.Writer.
func (l *lentSink) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sink.o == nil {
		return 0, errStreamOver
	}
	return l.sink.Write(p)
}

func (s *streamSink) put(p []byte) error {
	if s.chunked {
		s.o.buf = http1.AppendChunkLine(s.o.room(32), len(p))
		s.o.more = true // the end of the chunk, at least
		err := s.o.write(p)
		s.o.more = false
		if err != nil {
			return err
		}
		s.o.appendString("\r\n")
		return nil
	}
	if s.left >= 0 {
		if int64(len(p)) > s.left {
			return errBodyLong
		}
		s.left -= int64(len(p))
	}
	return s.o.write(p)
}

// copyFrom writes what r yields. Large files go by sendfile where the connection can. A small
// file is read behind the head: that saves a system call, and both leave in one packet.
func (s *streamSink) copyFrom(r io.Reader) (err error) {
	defer recoverStream(&err)
	if rf, ok := s.o.c.nc.(io.ReaderFrom); ok && s.left > smallBody && !s.chunked {
		if file, at, ok := fileAt(r); ok {
			n, err := s.o.sendFile(rf, file, at, s.left)
			s.left -= n
			return err
		}
	}
	if w, ok := r.(BodyWriterTo); ok && w.SupportsBodyWriteTo() {
		return s.lend(func(to io.Writer) error {
			_, err := w.WriteTo(to)
			return err
		})
	}
	buf := bufpool.Get(streamBuffer)[:streamBuffer]
	defer bufpool.Put(buf)
	for empty := 0; s.left != 0; empty++ {
		if empty == maxEmptyReads {
			return io.ErrNoProgress
		}
		want := buf
		if s.left > 0 && s.left < int64(len(buf)) {
			want = buf[:s.left]
		}
		n, err := r.Read(want)
		if n > 0 {
			empty = -1
			if err := s.put(want[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n < len(want) {
			if err := s.o.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

const streamBuffer = 32 << 10
