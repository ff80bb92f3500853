package gallop

import (
	"bytes"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/message"
)

// The server drains what a handler leaves of a request's body, within bounds, so that the
// connection can go on. If there is more, the connection is closed, and the head of the
// response says so.
//
//	                            Fixed, within bounds   Chunked                        beyond bounds
//	response in memory          drained behind it      drained before it              close
//	response is a stream        drained behind it      looked at before, then drained close

// tooMuchToDrain reports whether it is certain that what is left of the body is
// not going to be read: there is too much, or the client may or may not send it.
func (b *requestBody) tooMuchToDrain() bool {
	return b.x.awaits100 || b.err != nil || b.kind == message.Fixed && b.left > drainSize
}

// drain reads what the handler has left of the body, within bounds, and reports
// whether it got to the end.
func (b *requestBody) drain() bool { return b.ended() || b.drainRest() }

func (b *requestBody) drainRest() bool {
	if b.tooMuchToDrain() {
		return false
	}
	flushed := b.x.wire.FlushAside()
	read := b.drainInput()
	return <-flushed == nil && read
}

// drainInput is drain without a look at the output.
func (b *requestBody) drainInput() bool {
	b.x.wire.Input.ArmExactly(time.Now().Add(drainTime))
	for data, raw := 0, 0; isDrainable(data, raw); {
		p, n, err := b.decode(b.x.wire.Input.Unread())
		if err != nil {
			return false
		}
		b.x.wire.Input.R += n
		data, raw = data+len(p), raw+n
		if b.ended() {
			return true
		}
		if n == 0 && b.x.wire.Input.Read() != nil {
			return false
		}
	}
	return false
}

// isDrainable reports whether a body is still drained after this many bytes of data, for
// which this many were read.
func isDrainable(data, raw int) bool { return data <= drainSize && raw <= 2*drainSize }

// foresee settles whether the rest of the body is going to cost the connection. The head of
// the response, which is written next, has to say so (RFC 9112 §9.6). A chunked body is
// drained for that. It is only looked at if the response is a stream, which may still read it.
func (c *serverConn) foresee() {
	b := &c.body
	if c.close || b.kind == message.NoBody || c.ctx.hijackHandler != nil {
		return
	}
	if c.ctx.Response.IsBodyStream() {
		if !c.echoesBody() {
			c.foreseeBeforeStream()
		}
		return
	}
	b.sever()
	c.close = !b.ended() && (b.tooMuchToDrain() || b.kind == message.Chunked && !b.drain())
}

// echoesBody reports whether the body of the response is all of that of the request.
func (x *exchange) echoesBody() bool {
	body := &x.ctx.Response.body
	h, ok := body.stream.(*bodyHandle)
	return ok && h == x.body.handle && (body.size < 0 || x.body.announced >= 0 && int64(body.size) >= x.body.announced)
}

// foreseeBeforeStream is foresee for a response that is a stream. With Request.FullDuplex
// the handler has said that it is going to read the body.
func (c *serverConn) foreseeBeforeStream() {
	b, h := &c.body, c.body.handle
	if c.close || h == nil || c.ctx.Request.FullDuplex {
		return
	}
	if !h.mu.TryLock() { // somebody is reading the body
		c.close = b.announced < 0 || b.announced > drainSize
		return
	}
	defer h.mu.Unlock()
	h.rest = bytes.Clone(h.rest) // of the input buffer
	c.close = !b.ended() && (b.tooMuchToDrain() || b.kind == message.Chunked && !b.endsAhead())
}

// endsAhead reports whether a chunked body ends within what drain would read. The bytes that
// it reads stay in the input buffer.
func (b *requestBody) endsAhead() bool {
	c := b.x.wire
	flushed := c.FlushAside()
	defer func() { <-flushed }()
	c.Input.ArmExactly(b.endsAheadBy())
	probe := b.chunks
	for data, raw := 0, 0; isDrainable(data, raw); {
		p, n, err := probe.Next(c.Input.Unread()[raw:], &c.set.chunks, nil)
		if err != nil {
			return false
		}
		data, raw = data+len(p), raw+n
		if probe.Done() {
			return true
		}
		if n == 0 && (probe.Left() > drainSize || c.Input.Read() != nil) {
			return false
		}
	}
	return false
}

// endsAheadBy returns how long endsAhead may take: no longer than the handler may.
func (b *requestBody) endsAheadBy() time.Time {
	by := time.Now().Add(drainTime)
	if at, ok := b.x.ctx.Deadline(); ok {
		by = clock.Earlier(by, at)
	}
	if at := b.x.wire.Input.ByHand.Load(); at != nil {
		by = clock.Earlier(by, *at)
	}
	return by
}
