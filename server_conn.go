package gallop

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

// serverConn is the HTTP/1 wire of a server: it reads a request, has it answered, writes the response, and begins
// anew. See docs/design/0010-exchange.md for connection, wire and exchange.
//
//	server_conn.go      the loop, and what a request goes through
//	server_input.go     reading, deadlines of reading, buffers
//	h1_body.go          the body of the request: the one owner of its framing
//	h1_body_rest.go     what the handler leaves of it
//	server_output.go    writing, deadlines of writing
//	h1_response.go      how a response becomes bytes
//	h1_plain.go         how most do
//	server_close.go     refusals, and ways a connection ends
//
// All fields belong to the goroutine that serves, except the state and the links in entry.
type serverConn struct {
	connection
	*exchange // the request that is being served, or the last one; may be nil between requests

	requests uint64
	queued   bool // the first byte of this request was there before the last response was sent

	// These fields are copied from the request head before a handler can change it.
	http10    bool // HTTP/1.0: neither 1xx nor chunks
	keepAlive bool // the client allows another request

	host target.KnownHost // for checkRequest

	close    bool // no request after this one
	unframed bool // only the end of the connection ends the response, see beginUnframed
	plain    bool // the last response was plain
	hijacked bool // the handler has the connection, see HijackConn

	err    error   // why the connection ended; nil if that is routine
	handed *hijack // what becomes of a connection that was hijacked; nil if its handler has it already

	shared bool // an exchange that points here was left to its handlers
}

// connection is the part of a serverConn that does not depend on HTTP: the socket, its place in the connection table
// and on a loop, buffers and times.
type connection struct {
	srv   *Server
	set   *settings
	nc    net.Conn
	tls   secured // nc, if that is one
	entry *tableEntry
	own   tableEntry // entry, if a goroutine serves the connection to its end
	loop  loopSeat   // what there is else if it does not

	input  input
	output output

	id      uint64
	counted int64     // of the requests, those that the server's counts do not have yet
	since   time.Time // when the connection began, see begun
	ready   time.Time // when it could bring its first request
	now     time.Time // when the last bytes arrived
	lent    bool      // ServeConn was given the connection

	clock clock.Watch // for readClock
}

// connPhase is what Shutdown has to know of a connection.
type connPhase = int32

const (
	phaseActive  connPhase = iota
	phaseIdle              // waits for the first byte of a request
	phaseLast              // the same, but for a moment longer, see connTable.warnIdle
	phaseShaking           // in a TLS handshake
	phaseEnding            // has to end: no time is left to wait for a request, or little for the handshake
	phaseClosing           // its Close was called
)

// next says what happens to a connection after a step.
type next uint8

const (
	nextStep     next = iota // take the next step
	nextPark                 // give the connection back to its loop until more bytes arrive
	nextLater                // give the connection back to its loop, which sends the output first
	nextMove                 // call the handler on another goroutine
	nextHijacked             // the connection belongs to a handler
	nextEnded                // close the connection; serverConn.err says why
)

// endedBy returns nextEnded if err is not nil.
func (c *serverConn) endedBy(err error) next {
	if err == nil {
		return nextStep
	}
	c.err = err
	return nextEnded
}

// serveAccepted serves a connection from a listener and logs how it ended.
func (s *Server) serveAccepted(c acceptedConn) {
	id, err := s.serveConn(c.Conn, c.of)
	s.logEnd(c.Conn, id, err)
}

// logEnd logs why a connection ended, unless that was already logged or is routine.
func (s *Server) logEnd(nc net.Conn, id uint64, err error) {
	if _, answered := err.(answeredError); err != nil && !answered && err != errPanic && err != ErrAbortHandler && err != ErrPerIPConnLimit {
		s.log.connection(nc.RemoteAddr(), id, err, s.LogAllErrors)
	}
}

// serveConn serves nc, which admit has counted, until it ends. It is from a listener, or, if that is nil, ServeConn was given it.
// The id is that of the connection.
func (s *Server) serveConn(nc net.Conn, of *servedListener) (id uint64, err error) {
	c := s.acquireConn()
	c.lent = of == nil
	id = s.connIDs.Add(1)
	c.srv, c.set, c.nc, c.id = s, &s.set, nc, id
	c.readClock()
	c.since = c.now
	c.input.init(c)
	c.output.c = c
	c.entry, c.own.nc, c.own.context = &c.own, nc, s.newConnContext(of)
	if err := s.conns.add(c.entry); err != nil {
		s.conns.leave()
		if err == ErrPerIPConnLimit {
			s.turnAway(nc, StatusTooManyRequests, err, false)
		} else {
			nc.Close()
		}
		return id, err
	}
	ended, hijacked := false, false
	defer func() {
		if v := recover(); v != nil { // in a hook: handlers are looked after
			s.log.panicked(nc.RemoteAddr(), id, "panic ends a connection", v)
			err = errPanic
		}
	}()
	defer func() {
		defer s.retire(c, ended) // nothing is left when Shutdown sees it gone
		defer func() {
			if !hijacked && !c.hijacked {
				c.entry.state.Store(phaseClosing)
				c.closing().Close()
				c.report(StateClosed)
			}
		}()
		c.release()
	}()
	c.report(StateNew)
	if next, err := c.handshake(); next != nil || err != nil {
		if next != nil {
			return id, next(nc)
		}
		return id, err
	}
	c.ready = c.now
	if c.serve() != nextHijacked {
		ended = true
		return id, c.err
	}
	if hijacked = true; c.handed != nil {
		c.startHijack(c.handed)
	}
	return id, nil
}

func (s *Server) acquireConn() *serverConn {
	if c, ok := s.retired.Get().(*serverConn); ok {
		return c
	}
	return new(serverConn)
}

// retire takes c off the books. One that has ended as it should and that nobody
// else can know of serves another connection.
func (s *Server) retire(c *serverConn, ended bool) {
	s.conns.drop(c.entry)
	if ended && !c.shared {
		*c = serverConn{}
		s.retired.Put(c)
	}
}

func (c *connection) report(state ConnState) {
	if c.srv.ConnState != nil {
		c.srv.ConnState(c.nc, state)
	}
}

// serve serves requests until there is something else to do with the connection. It never returns nextStep.
func (c *serverConn) serve() next {
	for {
		n := c.waitIdle()
		if n == nextStep {
			n = c.readRequest()
		}
		if n == nextStep {
			n = c.answerRequest()
		}
		switch {
		case c.hijacked:
			c.handed = nil
			return nextHijacked
		case n == nextEnded:
			c.err = c.fail(c.err)
			return n
		case n != nextStep:
			return n
		}
		if c.plain {
			c.plain = false
			if !c.recyclePlain() {
				c.recycle()
			}
		} else {
			if c.exchange != nil && c.ctx.hijackHandler != nil {
				return c.hijack()
			}
			if c.close {
				c.err = c.end()
				return nextEnded
			}
			c.recycle()
		}
		if c.loop.conn != nil && c.input.empty() && c.mayParkLater() {
			return nextLater
		}
	}
}

// readRequest reads a request as far as it has to be there before the handler is called.
func (c *serverConn) readRequest() next {
	if c.loop.pending {
		c.loop.pending = false
		return nextStep
	}
	if n := c.readHead(); n != nextStep {
		return n
	}
	if err := c.takeRequest(); err != nil {
		return c.endedBy(err)
	}
	if c.loop.conn != nil && !c.mayRunHere() {
		c.loop.pending = true
		return nextMove
	}
	return nextStep
}

// errIdle ends a connection that brought no further request: no error to others.
var errIdle = errors.New("no further request")

// readHead reads the head of a request, of which the first bytes are there.
func (c *serverConn) readHead() next {
	in := &c.input
	if c.exchange == nil {
		c.exchange = c.newExchange()
	}
	c.began = c.now
	c.resumeHead()
	var parser http1.Parser
	n, err := parser.ParseRequest(&c.ctx.Request.Header.head, in.unread(), &c.set.head)
	if n == 0 {
		if err != nil {
			return c.endedBy(err)
		}
		var what next
		if n, what = c.readRestOfHead(&parser); what != nextStep {
			return what
		}
	}
	in.headAt = in.r
	in.r += n
	return nextStep
}

// readRestOfHead reads on until the head is there to its end, and returns how long it is.
func (c *serverConn) readRestOfHead(parser *http1.Parser) (length int, n next) {
	in, head := &c.input, &c.ctx.Request.Header.head
	for armed := false; ; armed = true {
		more := false
		if c.loop.conn != nil {
			if more, n = c.moreOfHead(); n != nextStep {
				return 0, n
			}
		}
		if !more {
			if !armed {
				c.startClock()
				in.armExactly(earlier(after(c.headBegan(), c.set.readHead), after(c.began, c.set.read)))
			}
			if err := in.fill(); err != nil {
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return 0, c.endedBy(err)
			}
		}
		length, err := parser.ParseRequest(head, in.unread(), &c.set.head)
		if length > 0 || err != nil {
			return length, c.endedBy(err)
		}
	}
}

// readClock sets now, and returns it.
func (c *connection) readClock() time.Time {
	c.now = c.clock.Now()
	return c.now
}

// startClock makes the time in which the server could not look at the request not count.
func (c *serverConn) startClock() {
	if c.queued {
		c.queued = false
		c.began = c.readClock()
	}
}

// headBegan is when the time for the head began. That of the first request includes
// the wait for its first byte: a client that delays both may not have it twice.
func (c *serverConn) headBegan() time.Time {
	if c.requests == 0 {
		_, ready := c.begun()
		return ready
	}
	return c.began
}

// waitIdle waits for the first byte of a request, if none is there.
func (c *serverConn) waitIdle() next {
	if c.loop.pending { // one was read before the connection was moved here
		return nextStep
	}
	if c.loop.started {
		c.loop.started, c.queued = false, false
		c.report(StateActive)
		return nextStep
	}
	if c.queued = !c.input.empty(); c.queued {
		return nextStep
	}
	if c.loop.conn != nil {
		return c.waitOnLoop()
	}
	if err := c.output.flush(); err != nil {
		return c.endedBy(err)
	}
	timeout := c.set.idle
	if c.requests == 0 {
		timeout = shorter(timeout, c.set.readHead)
	} else {
		c.report(StateIdle)
	}
	c.publish()
	// In this order Shutdown either finds the connection idle, and its deadline is the
	// last one to be set, or has begun before, and is seen here.
	c.input.arm(timeout)
	if !c.entry.state.CompareAndSwap(phaseActive, phaseIdle) {
		return c.endedBy(errIdle)
	}
	var err error
	if c.mayNotIdle() {
		err = c.input.lastChance()
	} else {
		err = c.input.wait()
	}
	return c.beganRequest(err)
}

// beganRequest is the end of waitIdle: err is the result of waiting for the first byte.
func (c *serverConn) beganRequest(err error) next {
	begun := c.entry.begin()
	if err != nil {
		if err == io.EOF || isTimeout(err) {
			err = errIdle
		}
		return c.endedBy(err)
	}
	if !begun {
		c.outrun()
	}
	c.report(StateActive)
	return nextStep
}

// begin makes a connection active that has waited for a request. It reports false if its time to wait is over.
func (c *tableEntry) begin() bool {
	return c.state.CompareAndSwap(phaseIdle, phaseActive) || c.state.CompareAndSwap(phaseLast, phaseActive)
}

// outrun makes a connection active whose time to wait was over when a request arrived.
func (c *connection) outrun() {
	c.srv.conns.isClosing() // waits for endWarned, which is waking the connection
	c.entry.state.Store(phaseActive)
	if c.loop.conn == nil {
		c.input.deadline = time.Time{}
		c.nc.SetReadDeadline(time.Time{})
	}
}

// mayNotIdle reports whether the connection ends instead of waiting for a request.
func (c *serverConn) mayNotIdle() bool {
	return c.srv.ending.Load() || c.requests > 0 && c.srv.keepAlives.off.Load()
}

// takeRequest judges the request whose head was read, and takes its body.
func (c *serverConn) takeRequest() error {
	x := c.exchange
	ctx := &x.ctx
	if c.requests++; c.requests == 1 {
		c.entry.served.Store(true)
	}
	c.counted++
	x.begin(c)
	if !x.settled() || c.set.unusual {
		x.settle(c)
	}
	c.noteHead(&ctx.Request.Header.head)
	x.maxBody, x.readTimeout, x.writeLimit = c.set.maxBody, c.set.read, c.set.write
	if err := x.checkRequest(&c.host); err != nil {
		return err
	}
	// The hooks below may change the header, but not where the request ends. So that is read from the header first.
	head := &ctx.Request.Header.head
	expects, announced := head.Flags&(message.ExpectContinue|message.ExpectOther), head.Length
	x.body.begin(head)
	if f := c.srv.HeaderReceived; f != nil {
		x.configure(f(&ctx.Request.Header))
	}
	if expects != 0 && !c.http10 {
		now, err := x.decideExpectation(expects)
		if now {
			err = c.sayContinue()
		}
		if err != nil {
			return err
		}
	}
	if x.body.ended() {
		ctx.life.canWatch = true
		if announced == 0 && c.srv.StreamRequestBody {
			ctx.Request.setStream(emptyBody{}, 0)
		}
		return nil
	}
	return c.takeBody(announced)
}

// answerRequest calls the handler and writes the response.
func (c *serverConn) answerRequest() next {
	x := c.exchange
	ctx := &x.ctx
	var panicked, aborted bool
	if c.set.maxAtOnce == 0 {
		panicked, aborted = x.runHandler()
	} else {
		panicked, aborted = x.runOneOfMany()
	}
	if answer := ctx.LastTimeoutErrorResponse(); answer != nil {
		if c.detach(answer) {
			return c.endedBy(errTimedOutLate)
		}
		return c.endedBy(c.respond())
	}
	if !panicked {
		if c.isPlain() {
			c.plain = true
			return c.endedBy(c.respondPlain())
		}
	}
	if c.hijacked {
		return nextHijacked
	}
	if aborted || panicked && ctx.stream.ex != nil {
		c.body.sever()
		c.resetDeadlines()
		ctx.stream.abort(&c.output)
		return c.endedBy(ErrAbortHandler)
	}
	last, err := x.afterHandler(panicked)
	if err != nil {
		return c.endedBy(err)
	}
	c.close = c.close || last
	return c.endedBy(c.respond())
}

// noteHead keeps what frames the response.
func (c *serverConn) noteHead(head *message.Head) {
	c.method, c.http10, c.keepAlive = head.MethodID, head.Minor == 0, head.Flags&message.LongConnection != 0
}

// runHandler calls the handler and reports whether it panicked. A handler that
// calls runtime.Goexit takes the goroutine with it; its connection is closed by the
// deferred calls of serveConn.
func (x *exchange) runHandler() (panicked, aborted bool) {
	c := x.wire
	defer func() {
		if v := recover(); v != nil {
			if panicked, aborted = true, isAbort(v); aborted {
				return
			}
			c.srv.log.panicked(c.nc.RemoteAddr(), c.id, "panic in the handler", v)
		}
	}()
	if c.loop.conn != nil {
		c.handleOnLoop()
	} else {
		x.server.Handler(&x.ctx)
	}
	return false, false
}

// runOneOfMany is runHandler with MaxConcurrentRequests.
func (x *exchange) runOneOfMany() (panicked, aborted bool) {
	s, c, ctx := x.server, x.wire, &x.ctx
	defer s.running.Add(-1)
	if s.running.Add(1) <= s.set.maxAtOnce {
		return x.runHandler()
	}
	s.busy.Add(1)
	s.log.refusal(c, StatusServiceUnavailable, ErrRequestLimit)
	ctx.Error(StatusMessage(StatusServiceUnavailable), StatusServiceUnavailable)
	if s.ErrorHandler != nil {
		panicked = !c.guard("the error handler", func() { s.ErrorHandler(ctx, ErrRequestLimit) })
	}
	return panicked, false
}

// afterHandler settles what the handler left: watchers, an unread body, a panic. It reports whether this has to be the last
// request on an HTTP/1 connection.
func (x *exchange) afterHandler(panicked bool) (last bool, err error) {
	ctx, b := &x.ctx, &x.body
	if !ctx.Response.IsBodyStream() { // which may be made of it
		b.sever() // first, because a goroutine that reads the end of the body makes the server watch the connection
	}
	x.stopWatching()
	x.wire.resetDeadlines()
	failure := b.failure()
	switch {
	case panicked:
		ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
		ctx.hijackHandler = nil
		last = true
	case failure != nil && failure != ErrBodyClosed && failure != os.ErrDeadlineExceeded && !x.server.StreamRequestBody && ctx.stream.ex == nil:
		return false, failure // the handler saw no body where there was one
	}
	if ctx.hijackHandler != nil {
		return last, nil // its owner gets what is left of the body
	}
	if failure != nil || !b.ended() && !ctx.Response.IsBodyStream() && b.tooMuchToDrain() {
		last = true
	}
	return last, nil
}

// recycle makes the connection ready for the next request.
func (c *serverConn) recycle() {
	if c.exchange != nil && !c.endExchange() { // before the head is gone, because user values look at it when they are closed
		c.exchange = nil
	}
	c.input.releaseHead(c.set.poison)
}

// release gives back what the connection holds.
func (c *serverConn) release() {
	if c.exchange != nil {
		c.releaseExchange()
	}
	if !c.hijacked {
		c.output.flush() // answers to requests before the one that has ended the connection
	}
	c.input.release()
	c.output.release()
	c.publish()
}

// releaseExchange ends a request that the connection ends with, or leaves it to its handlers.
func (c *serverConn) releaseExchange() {
	c.body.close()
	if c.ctx.LastTimeoutErrorResponse() != nil {
		c.abandon()
		return
	}
	c.stopWatching()
	if c.ctx.stream.ex != nil { // its handler has ended its goroutine
		c.ctx.stream.abort(&c.output)
	}
	c.dropExchange()
}

// dropExchange gives the exchange back.
func (c *serverConn) dropExchange() {
	x := c.exchange
	if c.endExchange() {
		x.leaveWire()
		c.srv.spare.Put(x)
	}
	c.exchange = nil
}

// endExchange ends the request, and reports whether its exchange is ready for another one.
func (c *serverConn) endExchange() (again bool) {
	c.body.close()
	if again = c.recycleCtx() && !c.exchange.shared; !again {
		c.leaveWire()
	}
	c.awaits100 = false
	return again
}

// recycleCtx ends the request, and reports whether its RequestCtx is ready for another
// one. It is not if something panics that is closed with it.
func (c *serverConn) recycleCtx() (again bool) {
	defer func() {
		if v := recover(); v != nil {
			c.srv.log.panicked(c.nc.RemoteAddr(), c.id, "panic in Close of a user value", v)
			c.ctx.letGo(c.set.poison)
		}
	}()
	return c.ctx.recycle(c.set.poison)
}

// putBuffer gives a buffer back to the pool.
func putBuffer(b *[]byte) {
	bufpool.Put(*b)
	*b = nil
}
