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

// serverConn serves one connection: it reads a request, has it answered, writes
// the response, and begins anew.
//
//	server_conn.go      the loop, and what a request goes through
//	server_input.go     reading, deadlines of reading, buffers
//	server_body.go      the body of the request: the one owner of its framing
//	server_body_rest.go what the handler leaves of it
//	server_output.go    writing, deadlines of writing
//	server_response.go  how a response becomes bytes
//	server_plain.go     how most do
//	server_close.go     refusals, and ways a connection ends
//
// All fields belong to the goroutine that serves, but for state and the links.
type serverConn struct {
	srv   *Server
	set   *settings
	nc    net.Conn
	tls   secured // nc, if that is one
	ctx   *RequestCtx
	entry *tableEntry
	own   tableEntry // entry, if a goroutine serves the connection to its end
	loop  loopSeat   // what there is else if it does not

	input  input
	output output
	body   requestBody

	id       uint64
	requests uint64
	counted  int64     // of the requests, those that the server's counts do not have yet
	since    time.Time // when the connection began, see begun
	ready    time.Time // when it could bring its first request
	now      time.Time // when the last bytes arrived
	began    time.Time // when the first byte of this request was there
	queued   bool      // which was before the last one was answered

	// These fields are copied from the request head before a handler can change it.
	method message.Method
	old    bool // HTTP/1.0: neither 1xx nor chunks
	long   bool // the client allows for another request

	host target.KnownHost

	close       bool // no request after this one
	unframed    bool // only the end of the connection ends the response, see beginUnframed
	wantsGo     bool // the client waits for 100 before it sends the body
	maxBody     int64
	readTimeout time.Duration // of this request
	writeLimit  time.Duration // of this response

	plain  bool // the last response was plain
	shared bool // others were handed something that points here, and may have kept it
	taken  bool // the handler has the connection, see HijackConn
	lent   bool // ServeConn was given the connection

	clock clock.Watch // for look
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
	c.look()
	c.since = c.now
	c.writeLimit = c.set.write
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
			if !hijacked && !c.taken {
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
	hijack, err := c.serve()
	if hijack == nil {
		ended = true
		return id, err
	}
	if hijacked = true; !c.taken {
		c.startHijack(hijack)
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

func (c *serverConn) report(state ConnState) {
	if c.srv.ConnState != nil {
		c.srv.ConnState(c.nc, state)
	}
}

// serve serves requests until the connection ends, with an error if it ended badly,
// or is hijacked.
func (c *serverConn) serve() (*hijack, error) {
	for {
		err := c.waitIdle()
		if err == nil {
			err = c.readRequest()
		}
		if err == nil {
			err = c.answerRequest()
		}
		if c.taken {
			return &hijack{}, nil
		}
		if err != nil {
			if _, paused := err.(pause); paused {
				return nil, err
			}
			return nil, c.fail(err)
		}
		if c.plain {
			c.plain = false
			if !c.recyclePlain() {
				c.recycle()
			}
		} else {
			if ctx := c.ctx; ctx != nil && ctx.hijackHandler != nil {
				return c.hijack()
			}
			if c.close {
				return nil, c.end()
			}
			c.recycle()
		}
		if c.loop.conn != nil && c.input.empty() && c.mayParkLater() {
			return nil, errLater
		}
	}
}

// readRequest reads a request as far as it has to be there before the handler is called.
func (c *serverConn) readRequest() error {
	if c.loop.taken {
		c.loop.taken = false
		return nil
	}
	if err := c.readHead(); err != nil {
		return err
	}
	if err := c.takeRequest(); err != nil {
		return err
	}
	if c.loop.conn != nil && !c.mayRunHere() {
		c.loop.taken = true
		return errMove
	}
	return nil
}

// errIdle ends a connection that brought no further request: no error to others.
var errIdle = errors.New("no further request")

// readHead reads the head of a request, of which the first bytes are there, into c.ctx.
func (c *serverConn) readHead() error {
	in := &c.input
	c.began = c.now
	c.resumeHead()
	if c.ctx == nil {
		c.ctx = c.srv.acquireCtx()
	}
	var parser http1.Parser
	n, err := parser.ParseRequest(&c.ctx.Request.Header.head, in.unread(), &c.set.head)
	if n == 0 && err == nil {
		n, err = c.readRestOfHead(&parser)
	}
	if err != nil {
		return err
	}
	in.headAt = in.r
	in.r += n
	return nil
}

// readRestOfHead reads on until the head is there to its end, and returns how long it is.
func (c *serverConn) readRestOfHead(parser *http1.Parser) (n int, err error) {
	in, head := &c.input, &c.ctx.Request.Header.head
	for armed := false; n == 0 && err == nil; armed = true {
		more := false
		if c.loop.conn != nil {
			if more, err = c.moreOfHead(); err != nil {
				return 0, err
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
				return 0, err
			}
		}
		n, err = parser.ParseRequest(head, in.unread(), &c.set.head)
	}
	return n, err
}

// look sets now.
func (c *serverConn) look() { c.now = c.clock.Now() }

// startClock makes the time in which the server could not look at the request not count.
func (c *serverConn) startClock() {
	if c.queued {
		c.queued = false
		c.look()
		c.began = c.now
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
func (c *serverConn) waitIdle() error {
	if c.loop.taken { // one was read before the connection was moved here
		return nil
	}
	if c.loop.started {
		c.loop.started, c.queued = false, false
		c.report(StateActive)
		return nil
	}
	if c.queued = !c.input.empty(); c.queued {
		return nil
	}
	if c.loop.conn != nil {
		return c.waitOnLoop()
	}
	if err := c.output.flush(); err != nil {
		return err
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
		return errIdle
	}
	var err error
	if c.mayNotIdle() {
		err = c.input.lastChance()
	} else {
		err = c.input.wait()
	}
	return c.endWait(err)
}

// endWait ends the wait for a request, of which the first bytes were read unless err is set.
func (c *serverConn) endWait(err error) error {
	begun := c.entry.begin()
	if err != nil {
		if err == io.EOF || isTimeout(err) {
			err = errIdle
		}
		return err
	}
	if !begun {
		c.outrun()
	}
	c.report(StateActive)
	return nil
}

// begin makes a connection active that has waited for a request. It reports false if its time to wait is over.
func (c *tableEntry) begin() bool {
	return c.state.CompareAndSwap(phaseIdle, phaseActive) || c.state.CompareAndSwap(phaseLast, phaseActive)
}

// outrun makes a connection active whose time to wait was over when a request arrived.
func (c *serverConn) outrun() {
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
	ctx := c.ctx
	if c.requests++; c.requests == 1 {
		c.entry.served.Store(true)
	}
	c.counted++
	ctx.begin(c)
	if ctx.conn != c || c.set.unusual {
		ctx.settle(c)
	}
	c.noteHead(&ctx.Request.Header.head)
	c.maxBody, c.readTimeout, c.writeLimit = c.set.maxBody, c.set.read, c.set.write
	if err := c.checkRequest(); err != nil {
		return err
	}
	// The hooks below may change the header, but not where the request ends. So that is read from the header first.
	head := &ctx.Request.Header.head
	expects, announced := head.Flags&(message.ExpectContinue|message.ExpectOther), head.Length
	c.body.begin(c, head)
	if f := c.srv.HeaderReceived; f != nil {
		c.configure(f(&ctx.Request.Header))
	}
	if expects != 0 {
		if err := c.decideExpectation(expects); err != nil {
			return err
		}
	}
	if c.body.ended() {
		ctx.life.canWatch = true
		if announced == 0 && c.srv.StreamRequestBody {
			ctx.Request.setStream(emptyBody{}, 0)
		}
		return nil
	}
	return c.takeBody(announced)
}

// answerRequest calls the handler and writes the response.
func (c *serverConn) answerRequest() error {
	ctx := c.ctx
	var panicked, aborted bool
	if c.set.maxAtOnce == 0 {
		panicked, aborted = c.runHandler()
	} else {
		panicked, aborted = c.runOneOfMany()
	}
	if answer := ctx.LastTimeoutErrorResponse(); answer != nil {
		if c.detach(answer) {
			return errTimedOutLate
		}
		return c.respond()
	}
	if !panicked && c.isPlain() {
		c.plain = true
		return c.respondPlain()
	}
	if c.taken {
		return nil
	}
	c.resetDeadlines()
	if aborted || panicked && ctx.stream.conn != nil {
		c.body.sever()
		ctx.stream.abort(&c.output)
		return ErrAbortHandler
	}
	if err := c.afterHandler(panicked); err != nil {
		return err
	}
	return c.respond()
}

// noteHead keeps what frames the response.
func (c *serverConn) noteHead(head *message.Head) {
	c.method, c.old, c.long = head.MethodID, head.Minor == 0, head.Flags&message.LongConnection != 0
}

// configure applies what HeaderReceived said.
func (c *serverConn) configure(rc RequestConfig) {
	if rc.MaxRequestBodySize > 0 {
		c.maxBody = int64(rc.MaxRequestBodySize)
	}
	if rc.ReadTimeout > 0 {
		c.readTimeout = rc.ReadTimeout
	}
	if rc.WriteTimeout > 0 {
		c.writeLimit = rc.WriteTimeout
	}
}

// runHandler calls the handler and reports whether it panicked. A handler that
// calls runtime.Goexit takes the goroutine with it; its connection is closed by the
// deferred calls of serveConn.
func (c *serverConn) runHandler() (panicked, aborted bool) {
	defer func() {
		if v := recover(); v != nil {
			if panicked, aborted = true, v == ErrAbortHandler; aborted {
				return
			}
			c.srv.log.panicked(c.nc.RemoteAddr(), c.id, "panic in the handler", v)
		}
	}()
	if c.loop.conn != nil {
		c.handleOnLoop()
	} else {
		c.srv.Handler(c.ctx)
	}
	return false, false
}

// runOneOfMany is runHandler with MaxConcurrentRequests.
func (c *serverConn) runOneOfMany() (panicked, aborted bool) {
	s, ctx := c.srv, c.ctx
	defer s.running.Add(-1)
	if s.running.Add(1) <= c.set.maxAtOnce {
		return c.runHandler()
	}
	s.busy.Add(1)
	s.log.refusal(c, StatusServiceUnavailable, ErrRequestLimit)
	ctx.Error(StatusMessage(StatusServiceUnavailable), StatusServiceUnavailable)
	if s.ErrorHandler != nil {
		panicked = !c.guard("the error handler", func() { s.ErrorHandler(ctx, ErrRequestLimit) })
	}
	return panicked, false
}

// afterHandler settles what the handler left: watchers, an unread body, a panic.
func (c *serverConn) afterHandler(panicked bool) error {
	ctx := c.ctx
	c.stopWatching()
	if !ctx.Response.IsBodyStream() { // which may be made of it
		c.body.sever()
	}
	err := c.body.failure()
	switch {
	case panicked:
		ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
		ctx.hijackHandler = nil
		c.close = true
	case err != nil && err != ErrBodyClosed && err != os.ErrDeadlineExceeded && !c.srv.StreamRequestBody && ctx.stream.conn == nil:
		return err // the handler saw no body where there was one
	}
	if ctx.hijackHandler != nil {
		return nil // its owner gets what is left of the body
	}
	if err != nil || !c.body.ended() && !ctx.Response.IsBodyStream() && c.body.tooMuchToDrain() {
		c.close = true
	}
	return nil
}

// recycle makes the connection ready for the next request.
func (c *serverConn) recycle() {
	c.body.close()
	c.input.releaseHead(c.set.poison)
	if c.ctx != nil && !c.recycleCtx() {
		c.ctx.conn = nil
		c.ctx = nil
	}
	c.wantsGo = false
}

// release gives back what the connection holds.
func (c *serverConn) release() {
	c.body.close()
	switch {
	case c.ctx == nil:
	case c.ctx.LastTimeoutErrorResponse() != nil:
		c.abandonCtx()
	default:
		c.stopWatching()
		if c.ctx.stream.conn != nil { // its handler has ended its goroutine
			c.ctx.stream.abort(&c.output)
		}
		c.dropCtx()
	}
	if !c.taken {
		c.output.flush() // answers to requests before the one that has ended the connection
	}
	c.input.release()
	c.output.release()
	c.publish()
}

// dropCtx gives the RequestCtx back.
func (c *serverConn) dropCtx() {
	again := c.recycleCtx()
	c.ctx.conn = nil
	if again {
		c.srv.ctxs.Put(c.ctx)
	}
	c.ctx = nil
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

func (s *Server) acquireCtx() *RequestCtx {
	if ctx, ok := s.ctxs.Get().(*RequestCtx); ok {
		return ctx
	}
	return &RequestCtx{server: s}
}

// putBuffer gives a buffer back to the pool.
func putBuffer(b *[]byte) {
	bufpool.Put(*b)
	*b = nil
}
