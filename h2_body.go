package gallop

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
)

var errCanceled = context.Canceled

// beginFrames takes over the body of a request on a stream. none means that the request has ended with its head.
func (b *requestBody) beginFrames(head *message.Head, none bool) {
	b.kind, b.announced, b.left = message.UntilClose, head.Length, head.Length
	if none {
		b.kind, b.left = message.NoBody, 0
	}
	b.whole, b.err, b.got, b.waited, b.handle, b.unseen = false, nil, 0, 0, nil, nil
}

// isBodiless reports whether the request has ended without a body.
func (st *h2Stream) isBodiless() bool {
	c := st.c
	c.mu.Lock()
	defer c.unlock()
	return st.ended && st.got == 0
}

// beginBody arranges that the body is collected or that the handler can read it. ready means that the handler can be called.
func (st *h2Stream) beginBody(head *message.Head) (ready bool) {
	x, s := st.x, st.c.srv
	req := &x.ctx.Request
	switch {
	case x.body.kind == message.NoBody:
		announced := head.Length == 0 || head.Body != message.NoBody // by a head without END_STREAM
		if announced && s.StreamRequestBody {
			req.setStream(emptyBody{}, 0)
		}
		return true
	case head.MethodID == message.Connect:
		return true
	case s.StreamRequestBody || x.awaits100:
		x.body.handle = &bodyHandle{body: &x.body, whole: x.maxBody}
		x.body.whole = !s.StreamRequestBody
		req.body.source, req.body.size = x.body.handle, streamSize(x.body.announced)
		return true
	}
	return st.collect()
}

// collect has the body collected. complete means that it has arrived already.
func (st *h2Stream) collect() (complete bool) {
	c := st.c
	c.mu.Lock()
	defer c.unlock()
	if st.err != nil {
		return true
	}
	c.borrow()
	c.engine.Consumed(st.id, len(st.body))
	if n := st.x.body.announced; n > 0 && !st.ended {
		c.engine.GrowWindow(st.id, uint32(min(n, mostWindow)))
	}
	st.collects = true
	return st.collected()
}

// mostWindow is how large the window of a stream becomes at most for a body that is collected.
const mostWindow = 1 << 20

// collected ends collecting if the body is complete or too large. The lock of c is held.
func (st *h2Stream) collected() bool {
	x := st.x
	if st.got > x.maxBody {
		st.reason = ErrBodyTooLarge
	} else if !st.ended {
		return false
	}
	st.collects = false
	st.showTrailers()
	req := &x.ctx.Request
	bufpool.Put(req.body.buf)
	req.body.buf, st.body = st.body, nil
	x.body.kind = message.NoBody
	if st.reason != nil {
		x.body.kind, x.body.err = message.UntilClose, st.reason
		req.body.buf = req.body.buf[:0]
	}
	return true
}

// data takes bytes of the body. The lock of c is held.
func (st *h2Stream) data(p []byte, end bool) {
	if st == nil {
		return
	}
	c := st.c
	st.got += int64(len(p))
	st.ended = st.ended || end
	if st.cutRead || st.err != nil || st.reason != nil {
		c.engine.Consumed(st.id, len(p)) // nobody reads it
		return
	}
	if len(p) > 0 {
		st.body = append(bufpool.Grow(st.body, len(p)), p...)
	}
	switch {
	case st.collects:
		c.engine.Consumed(st.id, len(p))
		if st.collected() {
			c.todo.push(st)
		}
	case st.judged:
		st.change.Broadcast()
	}
}

// trailers takes the trailers of the request, which end it. The lock of c is held.
func (st *h2Stream) trailers(m *http2.Message) {
	switch {
	case st == nil:
		return
	case st.isTunnel():
		st.breakTunnel()
		return
	}
	from, to := &m.Head.Fields, &st.tail
	for i := range from.Len() {
		name, value := from.At(i)
		field.Add(to, from.ID(i), name, value)
	}
	st.data(nil, true)
}

// showTrailers shows the trailers to the handler, whose goroutine has read the body. The lock of c is held.
func (st *h2Stream) showTrailers() {
	if st.tail.Len() > 0 {
		st.tail.CopyTo(&st.x.ctx.Request.Header.trailers)
		st.tail.Reset()
	}
}

// bodyEnded reports whether the body was read to its end.
func (st *h2Stream) bodyEnded() bool {
	st.c.mu.Lock()
	defer st.c.unlock()
	return st.ended && len(st.body) == 0
}

// awaitsBody reports whether no byte of the body has arrived.
func (st *h2Stream) awaitsBody() bool {
	st.c.mu.Lock()
	defer st.c.unlock()
	return st.got == 0
}

// readBody reads bytes of the body. It waits until some have arrived.
func (st *h2Stream) readBody(p []byte) (n int, err error) {
	c, b := st.c, &st.x.body
	c.mu.Lock()
	defer c.unlock()
	if err := st.awaitBody(); err != nil {
		if err != io.EOF {
			b.err = err
		}
		return 0, err
	}
	n = copy(p, st.body)
	st.used(n)
	return n, nil
}

// used drops bytes of the body that were read. The lock of c is held.
func (st *h2Stream) used(n int) {
	c := st.c
	if st.body = st.body[:copy(st.body, st.body[n:])]; len(st.body) == 0 {
		bufpool.Release(&st.body)
	}
	if !st.ended && st.err == nil {
		c.borrow()
		c.engine.Consumed(st.id, n)
		c.flush()
	}
}

// readAll appends the whole body to dst.
func (st *h2Stream) readAll(dst []byte) ([]byte, error) {
	c, b := st.c, &st.x.body
	c.mu.Lock()
	defer c.unlock()
	for {
		if err := st.awaitBody(); err == io.EOF {
			return dst, nil
		} else if err != nil {
			b.err = err
			return dst, err
		}
		if b.got += int64(len(st.body)); b.got > st.x.maxBody {
			b.err = ErrBodyTooLarge
			return dst, b.err
		}
		dst = append(bufpool.Grow(dst, len(st.body)), st.body...)
		st.used(len(st.body))
	}
}

// awaitBody waits until there are bytes of the body. At its end the error is io.EOF. The lock of c is held.
func (st *h2Stream) awaitBody() error {
	if len(st.body) == 0 && !st.ended && st.err == nil {
		st.invite()
	}
	start := time.Now()
	for len(st.body) == 0 && !st.ended {
		switch {
		case st.err != nil:
			return io.ErrUnexpectedEOF
		case st.cutRead:
			return ErrBodyClosed
		}
		by := st.readDeadline(start)
		if !by.IsZero() && !time.Now().Before(by) {
			if st.readBy.Load() != nil {
				return os.ErrDeadlineExceeded
			}
			return errSlowBody
		}
		st.wait(by)
	}
	st.waited += time.Since(start)
	switch {
	case st.cutRead:
		return ErrBodyClosed
	case len(st.body) > 0:
		return nil
	}
	st.showTrailers()
	return io.EOF
}

// invite says 100 (Continue) if the client waits for that. The lock of c is held.
func (st *h2Stream) invite() {
	if st.x.awaits100 {
		st.x.awaits100 = false
		st.c.borrow()
		st.c.engine.Respond(st.id, StatusContinue, nil, false)
	}
	st.c.flush()
}

// readDeadline returns until when a read that has begun at start waits.
func (st *h2Stream) readDeadline(start time.Time) (at time.Time) {
	if by := st.readBy.Load(); by != nil {
		return *by
	}
	x := st.x
	if rate := x.server.set.bodyRate; rate > 0 {
		at = start.Add(bodyBudget(st.got, rate) - st.waited)
	}
	return clock.Earlier(at, clock.After(x.began, x.readTimeout))
}

// wait waits for a change until a time, or forever if that is zero. The lock of c is held.
func (st *h2Stream) wait(by time.Time) {
	if st.onLoop {
		st.seat.Leave()
	}
	if !by.IsZero() {
		t := time.AfterFunc(time.Until(by), st.poke)
		defer t.Stop()
	}
	st.change.Wait()
}

// poke has waiting goroutines look at the stream again.
func (st *h2Stream) poke() {
	l := st.change.L
	l.Lock()
	st.change.Broadcast()
	l.Unlock()
}

// cutReading makes reads fail.
func (st *h2Stream) cutReading() {
	st.c.mu.Lock()
	defer st.c.unlock()
	if !st.ended {
		st.cutRead = true
		st.change.Broadcast()
	}
}

func (st *h2Stream) setReadDeadline(t time.Time) error {
	st.readBy.Store(&t)
	go st.poke()
	return nil
}

func (st *h2Stream) setWriteDeadline(t time.Time) error {
	st.writeBy.Store(&t)
	go st.poke()
	return nil
}
