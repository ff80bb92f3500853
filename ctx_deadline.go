package gallop

import "time"

// SetReadDeadline sets the deadline for reading the rest of the request. The deadline replaces the server's time
// limits. After the deadline, pending and later reads of the body fail with os.ErrDeadlineExceeded. The zero time means
// no limit.
//
// The deadline applies to this request only, not to later requests on the connection. The deadline has no effect after
// the handler has returned. Before the handler returns, any goroutine may call SetReadDeadline. If the request is not
// served by a Server, the error wraps errors.ErrUnsupported.
func (ctx *RequestCtx) SetReadDeadline(t time.Time) error {
	c := ctx.conn
	if c == nil {
		return errNotServed
	}
	c.input.byHand.Store(&t)
	return c.nc.SetReadDeadline(t)
}

// SetWriteDeadline sets the deadline for writing the response. The deadline replaces the server's time limits. The zero
// time means no limit. If the response is not complete at the deadline, the server truncates the response. The server
// then closes the HTTP/1 connection or the HTTP/2 stream.
//
// The deadline has no effect after the handler has returned. Use SetWriteDeadline with StreamResponse. For a response
// that the server sends after the handler has returned, the server's time limits apply. Before the handler returns, any
// goroutine may call SetWriteDeadline. If the request is not served by a Server, the error wraps errors.ErrUnsupported.
func (ctx *RequestCtx) SetWriteDeadline(t time.Time) error {
	c := ctx.conn
	if c == nil {
		return errNotServed
	}
	c.output.byHand.Store(&t)
	return c.nc.SetWriteDeadline(t)
}

// resetDeadlines puts the server's own settings in force again.
func (c *serverConn) resetDeadlines() {
	if c.input.byHand.Load() != nil || c.output.byHand.Load() != nil {
		c.clearDeadlines()
	}
}

func (c *serverConn) clearDeadlines() {
	if c.input.byHand.Load() != nil {
		c.input.byHand.Store(nil)
		c.input.deadline = time.Time{}
		c.nc.SetReadDeadline(time.Time{})
	}
	if c.output.byHand.Load() != nil {
		c.output.byHand.Store(nil)
		c.output.deadline = time.Time{}
		c.nc.SetWriteDeadline(time.Time{})
	}
}
