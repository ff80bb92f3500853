package gallop

import "time"

// SetReadDeadline sets the time until which the rest of the request can be read. It replaces the limits of the
// server. Reads of the body that wait at that time, or start later, fail with os.ErrDeadlineExceeded. The zero
// time means no limit.
//
// The deadline applies to this request, not to its connection, and lasts until the handler returns.
// SetReadDeadline may be called by any goroutine before that. The error wraps errors.ErrUnsupported if no
// Server serves the request.
func (ctx *RequestCtx) SetReadDeadline(t time.Time) error {
	c := ctx.conn
	if c == nil {
		return errNotServed
	}
	c.input.byHand.Store(&t)
	return c.nc.SetReadDeadline(t)
}

// SetWriteDeadline sets the time until which the response can be written. It replaces the limits of the server.
// The zero time means no limit. A response that is not written in time is cut off, and the HTTP/1 connection or
// the HTTP/2 stream is closed.
//
// The deadline lasts until the handler returns. SetWriteDeadline may be called by any goroutine before that.
// The error wraps errors.ErrUnsupported if no Server serves the request.
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
