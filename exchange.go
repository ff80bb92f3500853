package gallop

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"os"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/message"
)

// exchange is one request and its response. The RequestCtx that the handler gets is a part of it, so that a request needs
// one object from a pool. See docs/design/0010-exchange.md for connection, wire and exchange.
//
//	exchange.go          how it begins, calling its handler, watching its client, leaving it to its handler, its place
//	exchange_body.go     the request body as a handler sees it
//	exchange_check.go    checks of the request, responses to refused ones, expectations, corrections of the response
//	exchange_stream.go   response bodies that are streams
//	exchange_wire.go     what differs between HTTP/1 and HTTP/2
type exchange struct {
	ctx    RequestCtx
	server *Server
	wire   *serverConn // the HTTP/1 wire that the request came over; nil in the pool
	h2     *h2Stream   // the HTTP/2 wire, if it is that instead

	body requestBody

	shared bool // the program was given something that points here, and may have kept it

	began       time.Time      // when the first byte of the request was there
	method      message.Method // as received: a handler cannot change it
	awaits100   bool           // the client waits for 100 before it sends the body
	streams     bool           // the handler is called before the body has arrived
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
func (x *exchange) begin(c *conn.Conn) {
	ctx := &x.ctx
	ctx.time = c.Now
	ctx.connID, ctx.requestNum = c.ID, c.Turns
	ctx.Request.isTLS, ctx.Request.maxArgs = c.TLS != nil, x.server.set.maxArgs
	x.streams = x.server.StreamRequestBody
}

// settled reports whether settle was called for the present wire.
func (x *exchange) settled() bool { return x.ctx.ex != nil }

// settle does the part of begin that only the first request on c needs, and that only servers with unusual settings need for
// each request.
func (x *exchange) settle(c *conn.Conn) {
	ctx, s := &x.ctx, x.server
	ctx.ex = x
	if s.DisableHeaderNamesNormalizing {
		ctx.Request.Header.flags |= namesAsGiven
		ctx.Response.Header.flags |= namesAsGiven
	}
	if s.NoDefaultContentType {
		ctx.Response.Header.flags |= noDefaultContentType
	}
	if parent := c.Context(); parent != nil {
		ctx.InitContext(parent)
	}
}

// leaveWire separates the exchange from its wire.
func (x *exchange) leaveWire() { x.ctx.ex, x.wire = nil, nil }

// recycleCtx ends the request, and reports whether its RequestCtx is ready for another
// one. It is not if something panics that is closed with it.
func (x *exchange) recycleCtx(poison bool) (again bool) {
	defer func() {
		if v := recover(); v != nil {
			x.panicked("panic in Close of a user value", v)
			x.ctx.letGo(poison)
		}
	}()
	return x.ctx.recycle(poison)
}

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
	x.streams = x.streams || rc.StreamRequestBody
}

// runHandler calls the handler and reports whether it panicked. A handler that
// calls runtime.Goexit takes the goroutine with it; its connection is closed by the
// deferred calls of serveConn.
func (x *exchange) runHandler() (panicked, aborted bool) {
	returned := false
	defer func() {
		if returned { // so that most requests do without recover
			return
		}
		if v := recover(); v != nil {
			if panicked, aborted = true, isAbort(v); aborted {
				return
			}
			x.panicked("panic in the handler", v)
		}
	}()
	switch c := x.wire; {
	case c == nil:
		x.h2.callHandler()
	case c.Loop.Conn != nil:
		c.handleOnLoop()
	default:
		x.server.Handler(&x.ctx)
	}
	returned = true
	return false, false
}

// runOneOfMany is runHandler with MaxConcurrentRequests.
func (x *exchange) runOneOfMany() (panicked, aborted bool) {
	s, ctx := x.server, &x.ctx
	defer s.running.Add(-1)
	if s.running.Add(1) <= s.set.maxAtOnce {
		return x.runHandler()
	}
	s.busy.Add(1)
	x.logRefusal(StatusServiceUnavailable, ErrRequestLimit)
	ctx.Error(StatusMessage(StatusServiceUnavailable), StatusServiceUnavailable)
	if s.ErrorHandler != nil {
		panicked = !x.guard("the error handler", func() { s.ErrorHandler(ctx, ErrRequestLimit) })
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
	x.resetDeadlines()
	failure := b.failure()
	switch {
	case panicked:
		ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
		ctx.hijackHandler = nil
		last = true
	case failure != nil && failure != ErrBodyClosed && failure != os.ErrDeadlineExceeded && !x.streams && !ctx.streams():
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

// A handler that has timed out may go on, and so may goroutines that it has started. They keep the exchange, the
// connection with HTTP/1, and all bytes that the exchange shows.
//
// An exchange must not leave its connection before it has copied what it shows. With HTTP/1, the response to a request that
// has timed out is the last one on the connection. Nothing is served by the same serverConn after that, so nothing is copied.

// detach leaves the exchange to a handler that may still run. It returns a new exchange, which has answer as its response, or
// nil if answer cannot be sent because another response has started.
func (x *exchange) detach(answer *Response) *exchange {
	if x.abandon() {
		return nil
	}
	n := x.successor()
	answer.CopyTo(&n.ctx.Response)
	return n
}

// abandon leaves the exchange to the handlers that still use it. begun reports whether a handler has started the
// response or taken the connection. Afterwards no handler uses the wire, but a handler may still look at it.
func (x *exchange) abandon() (begun bool) {
	begun = x.ctx.output().leave(x)                    // before the context ends, so that no handler writes any more
	x.leftBehind()                                     // x points to its wire
	over := x.ctx.life.leave(context.DeadlineExceeded) // so that the connection is not watched any more
	x.stopWatching()
	x.body.close()
	if x.isTaken() {
		begun = true
	} else {
		x.resetDeadlines() // after a late read of the body, which sets deadlines too
	}
	x.leaveBytes()
	if over {
		x.guard("Close", x.ctx.cleanUp)
	}
	return begun
}

// successor returns an exchange for another response to the request of x, which was left to its handlers.
func (x *exchange) successor() *exchange {
	n := x.another()
	n.body, n.body.x = x.body, n
	n.method, n.began, n.awaits100, n.streams = x.method, x.began, x.awaits100, x.streams
	n.maxBody, n.readTimeout, n.writeLimit = x.maxBody, x.readTimeout, x.writeLimit
	return n
}

// A handler may want to know whether its client is still there. Then the connection is watched while the handler runs.

// stopWatching ends the watching and keeps what it has read.
func (x *exchange) stopWatching() {
	if x.ctx.life.used.Load() {
		x.endWatching()
	}
}

func (x *exchange) endWatching() {
	l, c := &x.ctx.life, x.wire
	l.mu.Lock()
	l.canWatch = false
	watcher := l.watcher
	l.mu.Unlock()
	if watcher == nil {
		return
	}
	c.EndWatch(watcher)
	l.watcher = nil
}

// placeKey makes places secret: which targets share one differs from process to process.
var placeKey = [2]uint64{rand.Uint64(), rand.Uint64() | 1}

// placeIndex returns which place is that of the method and the target of a request.
func placeIndex(h *message.Head) uint32 {
	return uint32(placeOf(&placeKey, h) % conn.PredictPlaces)
}

// placeOf returns a hash of a request's method and of its target up to the query.
//
// The hash has to be quick rather than good. There are so few places that a client can fill them
// all by choosing targets. Then handlers run on goroutines or, until that is noticed, once on the
// loop. But a client that does not know the key must not be able to hit the place of one target.
// So each word is multiplied by a secret number, and the two halves of the double-length product
// are XORed. Without the key, nobody can tell which words collide. The low half of the product
// alone would reveal some of them.
func placeOf(key *[2]uint64, head *message.Head) uint64 {
	target := head.Fields.Bytes(head.Target)
	h := key[0]
	for len(target) >= 8 && queries(ascii.Word(target, 0)) == 0 {
		hi, lo := bits.Mul64(h^ascii.Word(target, 0), key[1])
		h, target = hi^lo, target[8:]
	}
	rest := uint64(0) // of the path: less than a word
	if len(target) >= 8 {
		rest = ascii.Word(target, 0)
		query := queries(rest)
		rest &= query&-query>>7 - 1
	} else {
		for i := 0; i < len(target) && target[i] != '?'; i++ {
			rest |= uint64(target[i]) << (8 * i)
		}
	}
	hi, lo := bits.Mul64(h^rest, key[1])
	h = hi ^ lo
	if head.MethodID == message.OtherMethod && head.Method.Len > 0 {
		return h + uint64(head.Fields.Bytes(head.Method)[0])<<3 + uint64(head.Method.Len)
	}
	return h + uint64(head.MethodID) // those of one target are kept apart
}

// queries marks, with the high bit of its byte, the first '?' in w, and perhaps others behind it.
func queries(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	w ^= ones * '?'
	return (w - ones) &^ w & highs
}
