package gallop

import "time"

// SetReadDeadline sets until when the rest of the request can be read, instead of what
// the server's settings say: a Read of the body that waits then, or begins later, fails
// with os.ErrDeadlineExceeded. The zero time means never. It holds until the handler
// returns, and may be called by any goroutine before that.
func (ctx *RequestCtx) SetReadDeadline(t time.Time) error {
	c := ctx.conn
	if c == nil {
		return errNotServed
	}
	c.input.byHand.Store(&t)
	return c.nc.SetReadDeadline(t)
}

// SetWriteDeadline sets until when the response can be written, instead of what the
// server's settings say. The zero time means never. A connection that was too slow
// cannot be used any more. It holds until the handler returns, and may be called by any
// goroutine before that.
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
