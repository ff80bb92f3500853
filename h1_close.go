package gallop

import (
	"errors"
	"io"
	"net"

	"github.com/gallop-http/gallop/internal/http1"
)

// fail ends the connection because of err. It sends a response if the request was wrong,
// late or refused, and the client can still read that response.
func (c *serverConn) fail(err error) error {
	if err == errIdle {
		c.endIdle()
		return nil
	}
	if r, ok := err.(*refusal); ok {
		c.counts().refused.Add(1)
		err = c.answerRefusal(r.status)
		return err
	}
	public := c.publicError(err)
	if public == nil || c.output.err != nil {
		return err // the network failed, or the response did in its middle
	}
	if c.exchange == nil {
		return err
	}
	status := refusalStatus(public)
	c.counts().refused.Add(1)
	c.srv.log.refusal(c, status, public)
	c.answerError(status, public)
	return answeredError{public}
}

// answeredError is why a request was refused, when the client has been told and the log
// has it.
type answeredError struct{ error }

// publicError is what an ErrorHandler is told, nil if nobody is there to be answered.
func (c *serverConn) publicError(err error) error {
	var h *http1.Error
	var p *ParseError
	switch {
	case errors.As(err, &h):
		return parseError(h)
	case errors.As(err, &p), err == ErrBodyTooLarge, err == ErrGetOnly:
		return err
	case err == io.ErrUnexpectedEOF && !c.onlyBlankLines():
		return errCutOff
	case isTimeout(err) && !c.reading() && !c.onlyBlankLines():
		return errSlowHead
	}
	return nil
}

// refusalStatus returns the status of the response to a request that is refused because of err.
func refusalStatus(err error) int {
	var p *ParseError
	switch {
	case errors.As(err, &p):
		return p.StatusCode
	case err == ErrBodyTooLarge:
		return StatusRequestEntityTooLarge
	case err == ErrGetOnly:
		return StatusMethodNotAllowed
	}
	return StatusBadRequest
}

// onlyBlankLines reports whether no byte of a request has arrived, other than the
// line ends that may stand before it.
func (c *serverConn) onlyBlankLines() bool {
	return !c.reading() && http1.EmptyLines(c.input.unread())
}

// answerError answers a request that is refused, and ends the connection.
func (c *serverConn) answerError(status int, err error) {
	ctx := &c.ctx
	if !c.reading() { // its head was refused
		c.exchange.begin(c)
		c.exchange.settle(c)
		c.noteHead(&ctx.Request.Header.head)
		c.writeLimit = c.set.write
	}
	c.body.close()
	ctx.Response.Reset()
	ctx.Error(StatusMessage(status), status)
	if status == StatusMethodNotAllowed {
		ctx.Response.Header.Set(HeaderAllow, c.srv.allowed())
	}
	c.close = true
	if c.srv.ErrorHandler != nil {
		if !c.guard("the error handler", func() { c.srv.ErrorHandler(ctx, err) }) && ctx.stream.ex != nil {
			ctx.stream.abort(&c.output)
			return
		}
	}
	c.lastWords()
}

// answerRefusal answers a request whose expectation was refused.
func (c *serverConn) answerRefusal(status int) error {
	resp := &c.ctx.Response
	resp.SetStatusCode(status)
	if len(resp.body.bytes()) == 0 && !resp.IsBodyStream() {
		c.ctx.SetContentType("text/plain; charset=utf-8")
		resp.SetBodyString(StatusMessage(status))
	}
	c.lastWords()
	return nil
}

// lastWords writes ctx.Response as the last response, unless that was done already, and ends
// the connection so that it arrives.
func (c *serverConn) lastWords() {
	if c.hijacked {
		return
	}
	c.close = true
	var err error
	if c.ctx.stream.ex != nil {
		err = c.ctx.stream.finish()
	} else {
		c.limitWriting()
		err = c.writeResponse()
	}
	if err == nil && c.output.flush() == nil {
		c.endUnframed()
		c.linger()
	}
}

func (s *Server) allowed() string {
	if s.GetOnly {
		return "GET, HEAD"
	}
	return "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
}

// beginUnframed is called before a body whose end is that of the connection (RFC 9112
// §6.3). Until endUnframed is called, the connection ends with a reset and without a TLS
// close_notify, even if the process is killed. The client cannot take such an end for that
// of the body. Server.Close may still end the connection in order.
func (c *serverConn) beginUnframed() {
	c.unframed = true
	c.setLinger(0)
}

// endUnframed is called when all of a body is written that beginUnframed was called for.
func (c *serverConn) endUnframed() {
	if c.unframed {
		c.setLinger(-1)
		c.unframed = false
	}
}

// closing returns what is to be closed to end the connection: the connection below TLS
// while a body is unframed, so that no close_notify is sent.
func (c *serverConn) closing() net.Conn {
	if tc, ok := c.nc.(interface{ NetConn() net.Conn }); ok && c.unframed {
		return tc.NetConn()
	}
	return c.nc
}

// setLinger does what SetLinger of a net.TCPConn does, if the connection is one.
func (c *serverConn) setLinger(seconds int) {
	if c.loop.conn != nil {
		c.lingerOnLoop(seconds)
	} else if tc, ok := c.closing().(interface{ SetLinger(int) error }); ok {
		_ = tc.SetLinger(seconds)
	}
}

// end ends a connection after its last response.
func (c *serverConn) end() error {
	if _, half := c.nc.(interface{ CloseWrite() error }); !half {
		c.body.drain() // as far as it goes, since linger cannot
	}
	if err := c.output.flush(); err != nil {
		return err
	}
	c.endUnframed()
	if !c.input.empty() || !c.body.ended() {
		c.linger()
	}
	return nil
}
