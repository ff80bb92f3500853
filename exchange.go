package gallop

import (
	"os"
	"time"

	"github.com/gallop-http/gallop/internal/message"
)

// exchange is one request and its response. The RequestCtx that the handler gets is a part of it, so that a request needs
// one object from a pool. See docs/design/0010-exchange.md for connection, wire and exchange.
//
//	exchange.go          the exchange, how it begins, and calling its handler
//	exchange_body.go     the request body as a handler sees it
//	exchange_check.go    checks of the request, expectations, corrections of the response
//	exchange_timeout.go  exchanges that are left to their handlers
type exchange struct {
	ctx    RequestCtx
	server *Server
	wire   *serverConn // the wire that the request came over; nil in the pool

	body requestBody

	shared bool // the program was given something that points here, and may have kept it

	began       time.Time      // when the first byte of the request was there
	method      message.Method // as received: a handler cannot change it
	awaits100   bool           // the client waits for 100 before it sends the body
	maxBody     int64
	readTimeout time.Duration
	writeLimit  time.Duration
}

// newExchange returns an exchange for the next request on c.
func (c *serverConn) newExchange() *exchange {
	x, ok := c.srv.spare.Get().(*exchange)
	if !ok {
		x = &exchange{server: c.srv}
		x.body.x = x
	}
	x.wire = c
	return x
}

// begin begins the request whose head c has read. An exchange that c did not serve before also needs settle.
func (x *exchange) begin(c *serverConn) {
	ctx := &x.ctx
	ctx.time = c.Now
	ctx.connID, ctx.requestNum = c.ID, c.Turns
	ctx.Request.isTLS, ctx.Request.maxArgs = c.TLS != nil, c.set.maxArgs
}

// settled reports whether settle was called for the present wire.
func (x *exchange) settled() bool { return x.ctx.ex != nil }

// settle does the part of begin that only the first request on c needs, and that only servers with unusual settings need for
// each request.
func (x *exchange) settle(c *serverConn) {
	ctx := &x.ctx
	ctx.ex = x
	if c.srv.DisableHeaderNamesNormalizing {
		ctx.Request.Header.flags |= namesAsGiven
		ctx.Response.Header.flags |= namesAsGiven
	}
	if c.srv.NoDefaultContentType {
		ctx.Response.Header.flags |= noDefaultContentType
	}
	if parent := c.Context(); parent != nil {
		ctx.InitContext(parent)
	}
}

// leaveWire separates the exchange from its wire.
func (x *exchange) leaveWire() { x.ctx.ex, x.wire = nil, nil }

// configure applies what HeaderReceived said.
func (x *exchange) configure(rc RequestConfig) {
	if rc.MaxRequestBodySize > 0 {
		x.maxBody = int64(rc.MaxRequestBodySize)
	}
	if rc.ReadTimeout > 0 {
		x.readTimeout = rc.ReadTimeout
	}
	if rc.WriteTimeout > 0 {
		x.writeLimit = rc.WriteTimeout
	}
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
			c.Panicked("panic in the handler", v)
		}
	}()
	if c.Loop.Conn != nil {
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
	s.logRefusal(c, StatusServiceUnavailable, ErrRequestLimit)
	ctx.Error(StatusMessage(StatusServiceUnavailable), StatusServiceUnavailable)
	if s.ErrorHandler != nil {
		panicked = !c.Guard("the error handler", func() { s.ErrorHandler(ctx, ErrRequestLimit) })
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
	x.wire.ResetDeadlines()
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
