package gallop

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
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

// endsWithHead reports whether the request has ended without a body. It may have trailers nevertheless, which the handler sees then,
// unless err says that they are too large.
func (st *h2Stream) endsWithHead() (ends bool, err error) {
	c := st.c
	c.mu.Lock()
	defer c.unlock()
	if !st.ended || st.got > 0 {
		return false, nil
	}
	st.showTrailers()
	return true, st.tailErr
}

// beginBody arranges that the body is collected or that the handler can read it. ready means that the handler can be called.
func (st *h2Stream) beginBody(head *message.Head) (ready bool) {
	x := st.x
	req := &x.ctx.Request
	switch {
	case x.body.kind == message.NoBody:
		announced := head.Length == 0 || head.Body != message.NoBody // by a head without END_STREAM
		if announced && x.streams {
			req.setStream(emptyBody{}, 0)
		}
		return true
	case head.MethodID == message.Connect:
		return true
	case x.streams || x.awaits100:
		x.body.handle = &bodyHandle{body: &x.body, whole: x.maxBody}
		x.body.whole = !x.streams
		req.body.source, req.body.size = x.body.handle, streamSize(x.body.announced)
		st.messages = carriesMessages(head)
		return true
	}
	return st.collect()
}

// carriesMessages reports whether a request body consists of messages, between which the client may pause: those of gRPC and of the
// streams of Connect.
func carriesMessages(head *message.Head) bool {
	media := head.Fields.PeekID(field.ContentType)
	return ascii.HasPrefixFold(media, "application/grpc") || ascii.HasPrefixFold(media, "application/connect+")
}

// collect has the body collected. complete means that it has arrived already.
func (st *h2Stream) collect() (complete bool) {
	c := st.c
	c.mu.Lock()
	defer c.unlock()
	if st.err != nil {
		return true
	}
	if st.collects = true; st.collected() {
		return true
	}
	if !st.reserveFirst() {
		st.reason = errBodyMemory
		st.endCollecting()
		return true
	}
	c.borrow()
	st.owed = st.body.len()
	st.credit()
	return false
}

// collected ends collecting if the body is complete or too large. The lock of c is held.
func (st *h2Stream) collected() bool {
	switch {
	case st.got > st.x.maxBody:
		st.reason = ErrBodyTooLarge
	case !st.ended:
		return false
	default:
		st.reason = st.tailErr
	}
	st.endCollecting()
	return true
}

// endCollecting ends collecting, because the body is complete or st.reason is set. The lock of c is held.
func (st *h2Stream) endCollecting() {
	x := st.x
	st.collects, st.starved = false, false
	st.showTrailers()
	req := &x.ctx.Request
	bufpool.Put(req.body.buf)
	req.body.buf = st.body.take()
	x.body.kind = message.NoBody
	if st.reason != nil {
		x.body.kind, x.body.err = message.UntilClose, st.reason
		req.body.buf = req.body.buf[:0]
		return
	}
	st.c.engine.Delivered(len(req.body.buf))
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
		c.engine.Collected(st.id, len(p)) // nobody reads it
		return
	}
	if len(p) > 0 {
		st.body.add(p)
	}
	switch {
	case st.collects && st.collected():
		c.todo.push(st)
	case st.collects:
		st.owed += len(p)
		st.credit()
	case st.judged:
		st.change.Broadcast()
	}
}

// trailers takes the trailers of the request, which end it. excess is a limit of the connection that they exceed, or nil. The lock
// of c is held.
func (st *h2Stream) trailers(m *http2.Message, excess error) {
	switch {
	case st == nil:
		return
	case st.isTunnel():
		st.breakTunnel()
		return
	}
	from, size := &m.Head.Fields, 0
	for i := range from.Len() {
		name, value := from.At(i)
		if size += len(name) + len(value) + len(": \r\n"); excess != nil || size > serverChunkLimits.Trailer {
			st.tailErr = errTrailersTooLarge
			break
		}
		field.Add(&st.tail, from.ID(i), name, value)
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
	return st.ended && st.body.len() == 0
}

// awaitsBody reports whether no byte of the body has arrived.
func (st *h2Stream) awaitsBody() bool {
	st.c.mu.Lock()
	defer st.c.unlock()
	return st.got == 0
}

// readBody reads bytes of the body. It waits until some have arrived. If they are the last ones, and the request has ended already, the
// error is io.EOF, which saves the caller another read.
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
	n = copy(p, st.body.unread())
	if b.got += int64(n); b.whole && b.got > st.x.maxBody {
		b.err = ErrBodyTooLarge
		return 0, b.err
	}
	st.fresh += n
	st.used(n)
	st.widen()
	if st.ended && st.body.len() == 0 && st.tailErr == nil {
		st.showTrailers()
		return n, io.EOF
	}
	return n, nil
}

// used drops bytes of the body that were read, and gives the client credit for more. The lock of c is held.
func (st *h2Stream) used(n int) {
	c := st.c
	if st.body.drop(n); st.ended || st.err != nil {
		c.engine.Delivered(n)
		return
	}
	c.borrow()
	c.engine.Consumed(st.id, n)
	c.flush()
}

// widen doubles the window of a body that the handler reads as fast as it arrives, if there is memory. In a small window, a
// client waits for credit most of the time. The lock of c is held.
func (st *h2Stream) widen() {
	c := st.c
	window := max(st.window, int(c.srv.h2.config.StreamWindow))
	if st.ended || st.err != nil || st.body.len() > 0 || st.fresh < window || window >= mostWindow || !st.take(int64(window)) {
		return
	}
	st.window, st.fresh = 2*window, 0
	c.borrow()
	c.engine.GrowWindow(st.id, uint32(st.window))
	c.flush()
}

// readAll appends the whole body to dst.
func (st *h2Stream) readAll(dst []byte) ([]byte, error) {
	c, b := st.c, &st.x.body
	c.mu.Lock()
	defer c.unlock()
	for {
		if err := st.awaitBody(); err == io.EOF {
			c.engine.Delivered(int(b.got))
			return dst, nil
		} else if err != nil {
			b.err = err
			return dst, err
		}
		if b.got += int64(st.body.len()); b.got > st.x.maxBody {
			b.err = ErrBodyTooLarge
			return dst, b.err
		}
		n := st.body.len()
		dst = append(bufpool.Grow(dst, n), st.body.unread()...)
		if st.body.drop(n); !st.ended {
			st.owed += n
			if b.err = st.awaitCredit(); b.err != nil {
				return dst, b.err
			}
		}
	}
}

// awaitBody waits until there are bytes of the body. At its end the error is io.EOF. The lock of c is held.
func (st *h2Stream) awaitBody() error {
	if st.body.len() == 0 && !st.ended {
		if err := st.awaitBytes(); err != nil {
			return err
		}
	}
	switch {
	case st.cutRead:
		return ErrBodyClosed
	case st.body.len() > 0:
		return nil
	}
	if st.tailErr != nil {
		return st.tailErr
	}
	st.showTrailers()
	return io.EOF
}

// awaitBytes waits until bytes arrive, or the end. The lock of c is held.
func (st *h2Stream) awaitBytes() error {
	if st.err == nil {
		st.invite()
	}
	start := time.Now()
	var again time.Time // when a client that seems late is late
	for st.body.len() == 0 && !st.ended {
		switch {
		case st.err != nil:
			return io.ErrUnexpectedEOF
		case st.cutRead:
			return ErrBodyClosed
		}
		by := st.readDeadline(start)
		if now := time.Now(); !by.IsZero() && !now.Before(by) {
			if st.readBy.Load() != nil {
				return os.ErrDeadlineExceeded
			}
			if !now.Before(again) {
				if st.c.isLate(&st.doubt, true) {
					return errSlowBody
				}
				again = now.Add(h2Tick)
			}
			by = again
		}
		st.wait(by)
	}
	st.doubt = 0
	st.waited += time.Since(start)
	return nil
}

// invite says 100 (Continue) if the client waits for that, and sends the head of a response that reads the body. The lock of c is
// held.
func (st *h2Stream) invite() {
	if st.x.awaits100 {
		st.x.awaits100 = false
		st.c.borrow()
		st.c.engine.Respond(st.id, StatusContinue, nil, false)
	}
	if st.late {
		st.c.borrow()
		st.writeLate()
	}
	st.c.flush()
}

// readDeadline returns until when a read that has begun at start waits.
func (st *h2Stream) readDeadline(start time.Time) (at time.Time) {
	if by := st.readBy.Load(); by != nil {
		return *by
	}
	x := st.x
	if rate := x.server.set.bodyRate; rate > 0 && !st.messages {
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
		t := time.AfterFunc(time.Until(by), st.poker())
		defer t.Stop()
	}
	st.change.Wait()
}

// poker returns a function that has waiting goroutines look at the stream again. The function may still run when the stream
// serves another request, maybe of another connection. It then keeps to the lock of the earlier one, and wakes goroutines that
// wait on.
func (st *h2Stream) poker() func() {
	l := st.change.L
	return func() {
		l.Lock()
		defer l.Unlock()
		st.change.Broadcast()
	}
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

// unreadBytes are bytes of a body that were not read yet. The zero value has none.
//
//	buf    read | unread
//	            from     len(buf)
type unreadBytes struct {
	buf  []byte
	from int
	last int // length of buf when it was given back; the next one gets as much room
}

func (u *unreadBytes) len() int { return len(u.buf) - u.from }

// unread returns the bytes, until the next change.
func (u *unreadBytes) unread() []byte { return u.buf[u.from:] }

// add appends p. If more than half of the buffer was read, it moves the rest to the front before the buffer grows.
func (u *unreadBytes) add(p []byte) {
	if len(u.buf)+len(p) > cap(u.buf) && u.from > u.len() {
		u.buf, u.from = u.buf[:copy(u.buf, u.unread())], 0
	}
	if u.buf == nil {
		u.buf = bufpool.Get(max(len(p), u.last))
	}
	u.buf = append(bufpool.Grow(u.buf, len(p)), p...)
}

// drop drops the first n bytes. It gives the buffer back when none are left.
func (u *unreadBytes) drop(n int) {
	if u.from += n; u.len() == 0 {
		u.release()
	}
}

// take returns the bytes in a buffer that the caller owns, and leaves none.
func (u *unreadBytes) take() (buf []byte) {
	buf = u.buf[:copy(u.buf, u.unread())]
	*u = unreadBytes{}
	return buf
}

func (u *unreadBytes) release() {
	bufpool.Put(u.buf)
	*u = unreadBytes{last: len(u.buf)}
}
