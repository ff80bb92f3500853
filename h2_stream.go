package gallop

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

// h2Stream is the HTTP/2 wire of one exchange.
//
//	head arrives ──▶ todo ──▶ judge ──┬── the body is to be collected ──▶ collects ──▶ todo ──┐
//	                                  └───────────────────────────────────────────────────────┴──▶ start
//	start ──┬── fast handler: pending ──┐
//	        └── another goroutine ──────┴──▶ serve ──▶ handler ──▶ respond ──▶ end ──▶ recycle
type h2Stream struct {
	x    *exchange
	c    *h2Conn
	next *h2Stream // in a queue
	id   uint32
	slot int
	msg  http2.Message

	excess error     // limit that the head exceeds
	reason error     // why the request is refused, see fail
	what   uint32    // its place, for the predictor
	seat   conn.Seat // of the worker that calls the handler on a loop
	onLoop bool      // there is one
	taken  bool      // the handler has the stream, see AcceptStream
	shared bool      // a handler that was left behind may still use the stream

	messages bool // the request body consists of messages, so MinBodyRate does not apply

	protocol string // of an extended CONNECT, in lower case

	gone atomic.Bool // lost was called

	readBy, writeBy atomic.Pointer[time.Time] // as the program has set them

	// The lock of c guards the fields below.
	change   sync.Cond
	judged   bool        // judge was called, or is about to be
	body     unreadBytes // of the request
	got      int64       // bytes of the request body that have arrived
	window   int         // the window for the body if it has grown, see widen
	fresh    int         // bytes that the handler has read since then
	waited   time.Duration
	ready    bool          // it is in the queue ready of the connection
	starved  bool          // there is no memory for its body
	since    int64         // since when it has been ready or starved, see h2Now
	reserved int64         // bytes of memory for its body, see reserve
	first    int64         // bytes for its body from the allowance of the connection
	paused   time.Duration // how long the client got no credit
	owed     int           // bytes of the body for which the client has got no credit yet
	doubt    h2Doubt       // about the rest of the body
	stalls   h2Doubt       // about the window for the response
	collects bool          // the body is collected before the handler is called
	ended    bool          // the request is complete
	err      error         // why nothing can be read or written any more
	cutRead  bool          // reads fail
	cutWrite bool          // writes fail
	tried    bool          // c.trying is set for it
	kept     int64         // bytes of memory for rest, when the handler has returned
	late     bool          // the head of the response is sent with the first bytes of the body, see respondStream
	length   int64         // for that head, see outgoing
	rest     []byte
	restEnds bool // the stream ends with rest
	restTail *field.List
	tail     field.List // trailers of the request, which the handler does not see yet
	tailErr  error      // why they are refused
	isRest   bool       // it has no exchange, see leaveRest
	trimmed  bool       // trim has replaced the buffer of a response that waits
	handled  bool       // the handler has returned, and its response is complete but for rest
	opener   *h2Stream  // of a tunnel: the stream of its request, until the handler has returned
}

// newStream returns a stream for the next request on a connection.
func (s *Server) newStream() *h2Stream {
	if st, ok := s.spareStreams.Get().(*h2Stream); ok {
		return st
	}
	x := &exchange{server: s}
	st := &h2Stream{x: x}
	x.h2, x.body.x, x.ctx.ex = st, x, x
	st.msg.Head = &x.ctx.Request.Header.head
	return st
}

// judge judges a request whose head has arrived. If the handler can be called, or the request is refused, ready is true.
func (st *h2Stream) judge(seat *conn.Conn, known *target.KnownHost) (ready bool) {
	x, s := st.x, st.c.srv
	seat.CountTurn()
	x.begin(seat)
	if s.set.unusual {
		x.settle(seat)
	}
	head := &x.ctx.Request.Header.head
	st.noteProtocol(head)
	x.began, x.method = seat.Now, head.MethodID
	x.maxBody, x.readTimeout, x.writeLimit = s.set.maxBody, s.set.Read, s.set.Write
	if st.reason = st.check(head, known); st.reason != nil {
		return true
	}
	return st.beginBody(head)
}

// check returns why the request is refused, nil if it is not.
func (st *h2Stream) check(head *message.Head, known *target.KnownHost) error {
	x, s := st.x, st.c.srv
	ends, err := st.endsWithHead()
	x.body.beginFrames(head, ends)
	switch {
	case head.Method.Len > message.MaxMethod:
		return errMethodTooLong
	case int(head.Target.Len) > s.set.head.Target:
		return errTargetTooLong
	case st.excess != nil:
		return errHeadExceeds
	case err != nil:
		return err
	}
	if err := x.checkRequest(known); err != nil {
		return err
	}
	expects := head.Flags & (message.ExpectContinue | message.ExpectOther)
	if f := s.HeaderReceived; f != nil {
		x.configure(f(&x.ctx.Request.Header))
	}
	if expects != 0 {
		now, err := x.decideExpectation(expects)
		if now {
			err = st.writeInterim(StatusContinue)
		}
		if err != nil {
			return err
		}
	}
	if x.bodyTooLarge() {
		return ErrBodyTooLarge
	}
	return nil
}

// errHeadExceeds refuses a request with a head that is too large. The other errors refuse requests as HTTP/1 does.
var (
	errHeadExceeds   = error(&ErrSmallBuffer{refusing(StatusRequestHeaderFieldsTooLarge, "the header list is too large, RFC 6585 §5", ErrSmallReadBuffer)})
	errTargetTooLong = parseError(http1.ErrTargetTooLong)
	errMethodTooLong = parseError(http1.ErrMethodTooLong)

	errTrailersTooLarge = parseError(http1.ErrTrailerTooLarge)
)

// callHandler calls the handler, and remembers how long it took.
func (st *h2Stream) callHandler() {
	s, x := st.c.srv, st.x
	if !st.onLoop {
		s.Handler(&x.ctx)
		return
	}
	start, timed := st.seat.StartOnLoop()
	s.Handler(&x.ctx)
	st.seat.EndOnLoop(start, timed)
}

// serve calls the handler, and sends the response.
func (st *h2Stream) serve() {
	handlers := &st.c.srv.h2.handlers
	done := false
	defer handlers.Give(1)
	defer st.endUnless(&done)
	switch {
	case st.gone.Load(), st.taken: // by an ExpectHandler
	case st.reason != nil:
		st.fail(st.reason)
	default:
		st.answer()
	}
	done = true
	st.end()
}

// beginOnGoroutine has the handler for a request called by another goroutine than the one that serves the connection.
func (c *h2Conn) beginOnGoroutine(st *h2Stream) {
	c.mu.Lock()
	c.pending.push(st)
	start := !c.starting && !c.yielding
	c.starting = c.starting || start
	c.mu.Unlock()
	if start {
		go c.servePending(h2Share{most: h2ChainShare})
	}
}

// h2ChainShare is the share for the handlers of a connection on goroutines. With a shorter one, more responses leave alone.
const h2ChainShare = 2 * h2MostShare

// servePending serves the streams in pending, on a goroutine that has just started. It starts others as the workers of h2Ready do.
// share counts what the handlers of this connection have used, one after the other. When it is used up, none is called until other
// goroutines have run.
func (c *h2Conn) servePending(share h2Share) {
	c.mu.Lock()
	c.starting = false
	for !c.yielding {
		if share.over && c.pending.first != nil {
			c.yielding = true
			c.mu.Unlock()
			c.seat.Yield()
			c.mu.Lock()
			c.yielding, share = false, h2Share{most: h2ChainShare}
		}
		st, start := c.pending.next(&c.starting)
		if st == nil {
			break
		}
		c.mu.Unlock()
		share.use(h2CallWork)
		if start {
			go c.servePending(share)
		}
		if !st.mustWait() {
			st.serve()
		}
		c.mu.Lock()
	}
	c.mu.Unlock()
}

// endUnless ends the stream, unless done is set. Otherwise a hook has panicked, or the program has ended the goroutine. It must be
// deferred.
func (st *h2Stream) endUnless(done *bool) {
	if *done {
		return
	}
	if v := recover(); v != nil {
		st.x.panicked("panic ends a stream", v)
	}
	st.abort(http2.InternalError)
	st.end()
}

// answer calls the handler and writes the response.
func (st *h2Stream) answer() {
	x := st.x
	ctx := &x.ctx
	var panicked, aborted bool
	if st.c.srv.set.maxAtOnce == 0 {
		panicked, aborted = x.runHandler()
	} else {
		panicked, aborted = x.runOneOfMany()
	}
	if answer := ctx.LastTimeoutErrorResponse(); answer != nil {
		if n := x.detach(answer); n == nil {
			st.abort(http2.Cancel)
		} else {
			st.respond()
		}
		return
	}
	if st.taken {
		return
	}
	if aborted || panicked && ctx.streams() {
		x.body.sever()
		ctx.output().abort(x)
		st.abort(http2.InternalError)
		return
	}
	if _, err := x.afterHandler(panicked); err != nil {
		st.fail(err)
		return
	}
	st.respond()
}

// fail responds to a request that is refused because of err.
func (st *h2Stream) fail(err error) {
	x, s := st.x, st.c.srv
	s.conns.Counts[st.c.id%uint64(len(s.conns.Counts))].Refused.Add(1)
	if r, ok := err.(*refusal); ok {
		if !x.ctx.streams() {
			x.refuseExpectation(r.status)
		}
		st.respond()
		return
	}
	status := refusalStatus(err)
	x.logRefusal(status, err)
	x.body.close()
	if !x.refuse(status, err) {
		x.ctx.output().abort(x)
		st.abort(http2.InternalError)
		return
	}
	st.respond()
}

// another returns an exchange for the response to a request that was left to its handlers.
func (st *h2Stream) another() *exchange {
	n := &exchange{server: st.c.srv, h2: st}
	n.ctx.ex = n
	st.c.mu.Lock()
	defer st.c.mu.Unlock()
	n.ctx.connID, n.ctx.requestNum, n.ctx.time = st.x.ctx.connID, st.x.ctx.requestNum, st.x.ctx.time
	st.x = n
	return n
}

// leaveBytes leaves the bytes of the request to handlers.
func (st *h2Stream) leaveBytes() {
	st.shared = true
	st.msg.Buf = nil
}

// watch cancels a lifetime whose stream was lost before. l is locked.
func (st *h2Stream) watch(l *lifetime) {
	if st.gone.Load() {
		l.cancelLocked(errCanceled)
		l.tellGone(errCanceled)
	}
}

// lost ends a stream that the client does not want any more, or that cannot be served. The lock of c is held.
func (st *h2Stream) lost(err error) {
	if st == nil || st.err != nil {
		return
	}
	st.err = err
	st.rest = nil
	st.gone.Store(true)
	st.change.Broadcast()
	switch {
	case st.ready:
		st.ready = false
		st.c.ready.remove(st)
		st.c.todo.push(st)
	case !st.judged || st.collects: // nobody serves the stream
		st.collects = false
		if st.judged {
			st.c.todo.push(st)
		}
	case st.handled:
		st.close()
	case st.opener != nil:
		st.opener.x.ctx.life.lost()
	case st.x != nil: // and not a tunnel
		st.x.ctx.life.lost()
	}
}

// abort resets the stream, unless it has ended or is a tunnel's by now.
func (st *h2Stream) abort(code http2.Code) {
	c := st.c
	c.mu.Lock()
	defer c.unlock()
	if st.taken {
		return
	}
	c.borrow()
	c.engine.Reset(st.id, code)
	st.rest = nil
	c.flush()
}

// end ends the stream, unless a part of its response is to be sent.
func (st *h2Stream) end() {
	c := st.c
	c.mu.Lock()
	defer c.unlock()
	st.leave()
	switch {
	case !st.onLoop:
		c.flushSoon()
	case !st.isBatched():
		c.flush()
	}
}

// drop ends a stream whose handler is not called. It sends nothing, which the caller does later.
func (st *h2Stream) drop() {
	c := st.c
	c.mu.Lock()
	defer c.unlock()
	st.leave()
}

// leave is called when no handler uses the stream any more. The lock of its connection is held.
func (st *h2Stream) leave() {
	c := st.c
	st.handled = true
	tried := st.tried
	st.tried = false
	switch {
	case st.taken:
		if st.slot < len(c.streams) { // the array is given back when the tunnel and all others have ended
			if t := c.streams[st.slot]; t != nil && t.opener == st {
				t.opener = nil
			}
		}
		c.spent.push(st)
	case len(st.rest) == 0:
		st.close()
	case st.restTail == nil && st.x.ctx.Response.view == nil && !st.shared:
		st.leaveRest()
	case st.x.ctx.Response.view == nil:
		st.keep(len(st.rest))
	}
	if tried {
		c.endTry()
	}
}

// restStreams has streams without an exchange, see leaveRest.
var restStreams = sync.Pool{New: func() any { return new(h2Stream) }}

// leaveRest leaves the rest of the response to a stream without an exchange, which takes less memory while it waits for its
// client. The lock of c is held.
func (st *h2Stream) leaveRest() {
	body := &st.x.ctx.Response.body
	rest := restStreams.Get().(*h2Stream)
	rest.c, rest.id, rest.slot = st.c, st.id, st.slot
	rest.isRest, rest.judged, rest.ended, rest.handled, rest.cutRead = true, true, true, true, true
	rest.rest, rest.restEnds, rest.body.buf = st.rest, st.restEnds, body.buf
	rest.writeBy.Store(st.writeBy.Load())
	rest.keep(cap(body.buf))
	body.buf, st.rest = nil, nil
	st.c.streams[st.slot] = rest
	st.giveBack()
	st.c.spent.push(st)
}

// close gives the stream back. The lock of c is held.
func (st *h2Stream) close() {
	c := st.c
	c.borrow()
	c.engine.Release(st.id)
	c.streams[st.slot] = nil
	c.held--
	st.keep(0)
	st.giveBack()
	c.spent.push(st)
	if c.held == 0 {
		c.settled()
	}
}

// recycle makes the stream ready for another request.
func (st *h2Stream) recycle() {
	x, set := st.x, &st.c.srv.set
	st.body.release()
	switch {
	case st.isRest:
		*st = h2Stream{}
		restStreams.Put(st)
		return
	case x == nil: // a tunnel
		return
	}
	if s := x.ctx.stream.Load(); s != nil && s.left { // a handler that has timed out still uses the request, see abandon
		return
	}
	x.body.close()
	if !x.recycleCtx(set.Poison) || x.shared || st.shared {
		x.ctx.ex = nil
		return
	}
	if set.Poison {
		bufpool.PoisonBytes(st.msg.Buf)
	}
	if cap(st.msg.Buf) > keptHead {
		bufpool.Release(&st.msg.Buf)
	}
	x.awaits100 = false
	st.c, st.excess, st.reason = nil, nil, nil
	st.judged, st.onLoop, st.taken, st.starved, st.messages, st.protocol = false, false, false, false, false, ""
	st.got, st.owed, st.waited, st.paused, st.err, st.tailErr = 0, 0, 0, 0, nil, nil
	st.window, st.fresh, st.body.last, st.doubt, st.stalls = 0, 0, 0, 0, 0
	st.late, st.cutRead, st.cutWrite, st.handled, st.ended, st.collects = false, false, false, false, false, false
	st.rest, st.restTail = nil, nil
	if st.tail.Len() > 0 {
		st.tail.Reset()
	}
	if st.gone.Load() {
		st.gone.Store(false)
	}
	if st.readBy.Load() != nil || st.writeBy.Load() != nil {
		st.readBy.Store(nil)
		st.writeBy.Store(nil)
	}
	x.server.spareStreams.Put(st)
}

// keptHead is how large the bytes of a head may be that a stream keeps for its next request.
const keptHead = 8 << 10
