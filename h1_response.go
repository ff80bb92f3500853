package gallop

import (
	"errors"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// respond writes the response that the handler has left in ctx, and reads what the
// handler has left of the request.
func (c *serverConn) respond() error {
	ctx := &c.ctx
	if ctx.streams() {
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
	if err := c.ctx.output().finish(); err != nil {
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
		s.DisableKeepalive || s.conns.Stopping.Load() ||
		s.MaxRequestsPerConn > 0 && c.Turns >= uint64(s.MaxRequestsPerConn) {
		c.close = true
	}
}

// writeResponse writes head and body of ctx.Response.
func (c *serverConn) writeResponse() error {
	if c.correct() {
		c.close = true
	}
	resp := &c.ctx.Response
	o := &c.Output
	if c.awaits100 && resp.IsBodyStream() {
		c.continueNow()
	}
	c.foresee()
	mark, flushes := len(o.Buf), o.Flushes
	tunnel := c.opensTunnel()
	hasBody := resp.mayHaveBody() && !tunnel
	if hasBody && resp.body.err != nil {
		return c.takeBack(mark, resp.body.err)
	}
	out := c.outgoing(c.Date())
	if out.length = lengthNone; !tunnel {
		resp.frame(&out, c.http10 || resp.Header.sentMinor() == 0)
	}
	if hasBody && out.length == lengthUntilClose && c.ctx.hijackHandler == nil {
		c.BeginAbrupt()
	}
	c.writeHead(&out)
	if !hasBody {
		resp.CloseBodyStream()
		return o.Err
	}
	if !resp.IsBodyStream() {
		return o.Write(resp.body.bytes())
	}
	o.Now = time.Time{} // the stream may take its time
	if resp.ImmediateHeaderFlush {
		o.Flush() // an error is what the stream meets with, too
	}
	err := c.writeStream(out.length)
	if err == nil {
		return o.Err
	}
	if o.Flushes == flushes {
		return c.takeBack(mark, err)
	}
	o.Flush() // what there is, so that the client sees how far it went
	if o.Err != nil {
		return o.Err // and the stream had to end
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
	c.Output.AppendString(continueResponse)
}

// continueResponse invites the client to send the body.
const continueResponse = "HTTP/1.1 100 Continue\r\n\r\n"

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
	o := &c.Output
	o.Buf = resp.Header.appendHead(o.Room(headRoom+resp.Header.head.Fields.Size()), out)
}

// headRoom is what the fields that the server adds take at most, in most cases.
const headRoom = 256

// takeBack takes a response of which nothing was sent yet out of the output from mark
// on, and puts a 500 in its place.
func (c *serverConn) takeBack(mark int, err error) error {
	c.Server.Log.Connection(c.NC.RemoteAddr(), c.ID, &streamError{err}, true)
	c.Output.Buf = c.Output.Buf[:mark]
	c.ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
	c.ctx.hijackHandler = nil
	c.close = true
	return c.writeResponse()
}

// isProgramsFault reports whether err ended a response in the middle of its body, and not because of the network.
func isProgramsFault(err error) bool {
	var broken *streamError
	return errors.As(err, &broken) && !conn.IsNetwork(broken.err)
}

// sayContinue sends 100 (Continue).
func (c *serverConn) sayContinue() error {
	c.Output.AppendString(continueResponse)
	c.limitWriting()
	return c.Output.Flush()
}

// writeInterim writes an interim response with the headers of the response.
func (c *serverConn) writeInterim(status int) error {
	c.limitWriting()
	o := &c.Output
	o.Buf = appendInterim(o.Room(headRoom), status, &c.ctx.Response.Header.head.Fields)
	return o.Flush()
}

// finalOnly are the fields that an interim response does not have.
const finalOnly = field.IDs(1)<<field.ContentLength | 1<<field.TransferEncoding | 1<<field.Connection |
	1<<field.Trailer | 1<<field.Date | 1<<field.Server

// appendInterim appends an interim response with the fields of l, except those in finalOnly.
func appendInterim(dst []byte, status int, l *field.List) []byte {
	dst = http1.AppendStatusLine(dst, status, StatusMessage(status))
	return append(l.AppendLines(dst, finalOnly), "\r\n"...)
}

// writeStream writes the stream that is the response's body: length bytes, or
// chunks, or all there is up to the end of the connection.
func (c *serverConn) writeStream(length int64) error {
	sink := streamSink{o: &c.Output, chunked: length == lengthChunked, left: length}
	return sink.writeBody(&c.ctx.Response)
}

// beginStream writes the head of a response whose body is going to be written to the sink that beginStream returns.
func (c *serverConn) beginStream(none bool) streamSink {
	if c.awaits100 { // it may, or may not, send the body
		c.awaits100, c.close = false, true
	}
	c.limitWriting()
	c.decideClose()
	c.foreseeBeforeStream()
	out := c.outgoing(time.Now()) // not c.now: another goroutine may be reading the body, which sets it
	out.length = c.streamedLength(none)
	if out.length == lengthUntilClose {
		out.close = true
		c.BeginAbrupt()
	}
	c.writeHead(&out)
	return streamSink{o: &c.Output, chunked: out.length == lengthChunked, left: out.length}
}

// streamedLength returns what frames a body that is going to be written.
func (c *serverConn) streamedLength(none bool) int64 {
	resp := &c.ctx.Response
	length := resp.Header.sentLength()
	switch {
	case resp.StatusCode() == StatusResetContent:
		return 0
	case length >= 0 && resp.StatusCode() != StatusNoContent:
		return length
	case none && c.method != message.HeadMethod:
		return lengthNone
	case !c.http10 && resp.Header.head.Body != message.UntilClose && resp.Header.sentMinor() > 0:
		return lengthChunked
	case none:
		return lengthNone
	}
	return lengthUntilClose
}
