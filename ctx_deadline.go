package gallop

import "time"

// SetReadDeadline sets the deadline for reading the rest of the request. It replaces the server's limits. Reads of
// the body that are pending at the deadline, or that start later, fail with os.ErrDeadlineExceeded. The zero time
// means no limit.
//
// The deadline applies to this request, not to its connection, and lasts until the handler returns. Any goroutine may
// call SetReadDeadline before the handler returns. The error wraps errors.ErrUnsupported if the request is not served
// by a Server.
func (ctx *RequestCtx) SetReadDeadline(t time.Time) error {
	c := ctx.conn
	if c == nil {
		return errNotServed
	}
	c.input.byHand.Store(&t)
	return c.nc.SetReadDeadline(t)
}

// SetWriteDeadline sets the deadline for writing the response. It replaces the server's limits. The zero time means
// no limit. A response that is not written in time is cut off, and the HTTP/1 connection or the HTTP/2 stream is
// closed.
//
// The deadline lasts until the handler returns. Any goroutine may call SetWriteDeadline before the handler returns.
// The error wraps errors.ErrUnsupported if the request is not served by a Server.
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
