package gallop

import (
	"time"

	"github.com/gallop-http/gallop/internal/message"
)

// exchange is one request and its response. The RequestCtx that the handler gets is a part of it, so that a request needs
// one object from a pool. See docs/design/0010-exchange.md for connection, wire and exchange.
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
	ctx.time = c.now
	ctx.connID, ctx.requestNum = c.id, c.requests
	ctx.Request.isTLS, ctx.Request.maxArgs = c.tls != nil, c.set.maxArgs
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
	if cc := c.entry.context; cc != nil {
		ctx.InitContext(cc.forRequest(c))
	}
}

// leaveWire separates the exchange from its wire.
func (x *exchange) leaveWire() { x.ctx.ex, x.wire = nil, nil }

// reading reports whether a request is being served whose head was read.
func (x *exchange) reading() bool { return x != nil && x.body.open }

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
