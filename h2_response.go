package gallop

import (
	"io"
	"log/slog"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
)

// respond sends the response that the handler has left.
func (st *h2Stream) respond() {
	x := st.x
	ctx := &x.ctx
	if ctx.streams() {
		x.body.sever()
		if err := ctx.output().finish(); err != nil {
			st.broken(err)
		}
		return
	}
	if ctx.hijackHandler != nil {
		st.refuseHijack()
	}
	x.limitWriting()
	x.correct()
	if resp := &ctx.Response; resp.mayHaveBody() && resp.body.err != nil {
		st.replace(resp.body.err)
	}
	if ctx.Response.IsBodyStream() {
		st.respondStream()
		return
	}
	st.respondBytes()
}

// refuseHijack replaces the response of a handler that wants to take the connection.
func (st *h2Stream) refuseHijack() {
	s := st.c.srv
	if s.h2.hijacked.CompareAndSwap(false, true) {
		s.conns.Log.Write(&conn.Event{Level: slog.LevelError, Text: "a handler called Hijack over HTTP/2; to allow that, turn HTTP/2 off with Server.Protocols",
			Remote: st.c.nc.RemoteAddr(), Conn: st.c.id, Status: StatusNotImplemented}, "a handler called Hijack over HTTP/2; to allow that, turn HTTP/2 off with Server.Protocols")
	}
	ctx := &st.x.ctx
	ctx.hijackHandler = nil
	ctx.Error(StatusMessage(StatusNotImplemented), StatusNotImplemented)
}

// replace puts a 500 in the place of a response that cannot be sent because of err.
func (st *h2Stream) replace(err error) {
	st.c.srv.conns.Log.Connection(st.c.nc.RemoteAddr(), st.c.id, &streamError{err}, true)
	st.x.ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
}

// broken ends a response of which a part was sent.
func (st *h2Stream) broken(err error) {
	if isProgramsFault(err) {
		st.c.srv.conns.Log.Connection(st.c.nc.RemoteAddr(), st.c.id, err, true)
	}
	st.abort(http2.InternalError)
}

// respondBytes sends a response whose body is in memory.
func (st *h2Stream) respondBytes() {
	c, x := st.c, st.x
	resp := &x.ctx.Response
	out := x.outgoing(st.date())
	resp.frame(&out, false)
	var body []byte
	if resp.mayHaveBody() {
		body = resp.body.bytes()
	}
	tail := trailersOf(resp)
	c.mu.Lock()
	defer c.unlock()
	c.borrow()
	if !st.writeHead(&out, len(body) == 0 && tail == nil) {
		return
	}
	if len(body) > 0 || tail != nil {
		st.append(body, tail == nil, tail)
	}
}

// trailersOf returns the trailers of the response, or nil.
func trailersOf(resp *Response) *field.List {
	if l := &resp.Header.trailers; l.Len() > 0 && resp.mayHaveBody() {
		return l
	}
	return nil
}

// respondStream sends a response whose body is a stream.
func (st *h2Stream) respondStream() {
	x := st.x
	resp := &x.ctx.Response
	out := x.outgoing(st.date())
	resp.frame(&out, false)
	none := !resp.mayHaveBody()
	if x.awaits100 {
		if h := x.body.handle; h != nil && h.shown.Load() {
			st.writeInterim(StatusContinue)
		}
		x.awaits100 = false
	}
	if none {
		st.sendHead(&out, true)
		resp.CloseBodyStream()
		return
	}
	st.late, st.length = true, out.length
	if resp.ImmediateHeaderFlush {
		st.flush()
	}
	sink := streamSink{h2: st, left: max(out.length, -1)}
	if err := sink.writeBody(resp); err != nil && !st.takeBack(err) {
		st.broken(&streamError{err})
	}
}

// writeLate writes the head of a response whose body is a stream, unless that was done before. The lock of c is held, and the
// engine has a buffer.
func (st *h2Stream) writeLate() {
	if st.late {
		st.late = false
		out := st.x.outgoing(st.date())
		out.length = st.length
		st.writeHead(&out, false)
	}
}

// takeBack sends a 500 in the place of a response whose body has failed because of err, if nothing of the response was sent.
func (st *h2Stream) takeBack(err error) (done bool) {
	st.c.mu.Lock()
	done = st.late && st.err == nil
	st.late = false
	st.c.unlock()
	if done {
		st.replace(err)
		st.respondBytes()
	}
	return done
}

// beginStream writes the head of a response whose body is going to be written to the sink that beginStream returns.
func (st *h2Stream) beginStream(none bool) streamSink {
	x := st.x
	x.limitWriting()
	out := x.outgoing(time.Now())
	resp := &x.ctx.Response
	if out.length = resp.Header.sentLength(); none && x.method != message.HeadMethod || resp.StatusCode() == StatusNoContent {
		out.length = lengthNone
	}
	if resp.StatusCode() == StatusResetContent {
		out.length = 0
	}
	st.sendHead(&out, false)
	left := max(out.length, -1)
	if none {
		left = -1
	}
	return streamSink{h2: st, left: left}
}

// sendHead appends the head of the response to the output.
func (st *h2Stream) sendHead(out *outgoing, end bool) {
	st.c.mu.Lock()
	defer st.c.unlock()
	st.x.awaits100 = false // another goroutine may read the body, see invite
	st.c.borrow()
	st.writeHead(out, end)
}

// date returns when the response was made.
func (st *h2Stream) date() time.Time {
	if st.onLoop {
		return st.x.ctx.time
	}
	return time.Now()
}

// writeInterim sends an interim response with the headers of the response.
func (st *h2Stream) writeInterim(status int) error {
	c := st.c
	c.mu.Lock()
	defer c.unlock()
	if err := st.mayWrite(); err != nil {
		return err
	}
	c.borrow()
	dst, e, ok := c.engine.BeginHead(st.id)
	if !ok {
		return io.ErrClosedPipe
	}
	dst = hpack.AppendStatus(e, dst, status)
	l := &st.x.ctx.Response.Header.head.Fields
	for i := range l.Len() {
		switch l.ID(i) {
		case field.ContentLength, field.Trailer, field.Date, field.Server:
			continue
		}
		dst = appendH2Field(e, dst, l, i)
	}
	c.engine.EndHead(st.id, dst, false, false)
	c.flush()
	return nil
}

// writeHead appends the head of the response to the output, and reports whether the stream can still send. The lock of c is
// held.
func (st *h2Stream) writeHead(o *outgoing, end bool) bool {
	c, h := st.c, &st.x.ctx.Response.Header
	dst, e, ok := c.engine.BeginHead(st.id)
	if !ok || st.err != nil {
		return false
	}
	l := &h.head.Fields
	if h.isUsual() && !o.date.IsZero() && o.server != "" {
		dst = c.start.append(e, dst, o)
	} else {
		dst = appendH2Start(e, dst, h, o)
	}
	length, status := o.length, h.StatusCode()
	if status < 200 || status == StatusNoContent {
		length = lengthNone // RFC 9110 §8.6
	}
	if o.defaultContentType && status != StatusNotModified && length != 0 && length != lengthNone &&
		h.flags&noDefaultContentType == 0 && !l.Has(field.ContentType) {
		dst = hpack.Append(e, dst, field.ContentType, "Content-Type", "text/plain; charset=utf-8")
	}
	for i := range l.Len() {
		dst = appendH2Field(e, dst, l, i)
	}
	if length >= 0 {
		dst = hpack.AppendContentLength(dst, uint64(length))
	}
	c.engine.EndHead(st.id, dst, true, end)
	if i := l.FindID(field.Priority); i >= 0 {
		c.engine.MergePriority(st.id, l.Value(i))
	}
	if h.head.Flags&message.ConnectionClose != 0 || c.srv.endsAfter(c.turns) {
		c.engine.Shutdown()
	}
	return true
}

// appendH2Start appends :status, Server and Date.
func appendH2Start(e *hpack.Encoder, dst []byte, h *ResponseHeader, o *outgoing) []byte {
	l := &h.head.Fields
	dst = hpack.AppendStatus(e, dst, h.StatusCode())
	if o.server != "" && !l.Has(field.Server) {
		dst = hpack.Append(e, dst, field.Server, "Server", o.server)
	}
	if !o.date.IsZero() && h.flags&noDefaultDate == 0 && !l.Has(field.Date) {
		var date [32]byte
		dst = hpack.Append(e, dst, field.Date, "Date", clock.AppendDate(date[:0], o.date))
	}
	return dst
}

// h2Start is the encoded start of most response heads of a connection, which changes once per second.
type h2Start struct {
	second     uint32
	generation uint32
	n          uint8
	text       [7]byte
}

func (s *h2Start) append(e *hpack.Encoder, dst []byte, o *outgoing) []byte {
	second, generation := uint32(o.date.Unix()), uint32(e.Generation())
	if s.n > 0 && s.second == second && s.generation == generation {
		return append(dst, s.text[:s.n]...)
	}
	var usual ResponseHeader
	at := len(dst)
	dst = appendH2Start(e, dst, &usual, o)
	if s.n = 0; uint32(e.Generation()) == generation && len(dst)-at <= len(s.text) {
		s.second, s.generation, s.n = second, generation, uint8(copy(s.text[:], dst[at:]))
	}
	return dst
}
