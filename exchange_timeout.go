package gallop

import "context"

// A handler that has timed out may go on, and so may goroutines that it has started. They keep the exchange, the
// connection with HTTP/1, and all bytes that the exchange shows.
//
// An exchange must not leave its connection before it has copied what it shows. With HTTP/1, the response to a request that
// has timed out is the last one on the connection. Nothing is served by the same serverConn after that, so nothing is copied.

// detach leaves the exchange to a handler that may still run. The connection continues with a new exchange for answer.
// late reports whether answer cannot be sent, because another response has started.
func (c *serverConn) detach(answer *Response) (late bool) {
	left := c.exchange
	if c.abandon() {
		return true
	}
	c.exchange = left.successor()
	answer.CopyTo(&c.ctx.Response)
	c.close = true
	return false
}

// abandon leaves the exchange to the handlers that still use it. begun reports whether a handler has started the
// response or taken the connection. Afterwards no handler uses the connection, but a handler may still look at it. Without
// the mark shared, TestLateHandlers and the case "context" of TestKeptByHandlers fail.
func (c *serverConn) abandon() (begun bool) {
	x := c.exchange
	begun = x.ctx.stream.leave(c)                      // before the context ends, so that no handler writes any more
	c.shared = true                                    // x points to c
	over := x.ctx.life.leave(context.DeadlineExceeded) // so that the connection is not watched any more
	x.stopWatching()
	x.body.close()
	if c.hijacked {
		begun = true
	} else {
		c.ResetDeadlines() // after a late read of the body, which sets deadlines too
	}
	c.Input.Abandon()
	if over {
		c.Guard("Close", x.ctx.cleanUp)
	}
	c.exchange = nil
	return begun
}

// successor returns an exchange for another response to the request of x, which was left to its handlers.
func (x *exchange) successor() *exchange {
	n := x.wire.newExchange()
	n.body, n.body.x = x.body, n
	n.method, n.began, n.awaits100 = x.method, x.began, x.awaits100
	n.maxBody, n.readTimeout, n.writeLimit = x.maxBody, x.readTimeout, x.writeLimit
	n.begin(x.wire)
	n.settle(x.wire)
	return n
}
