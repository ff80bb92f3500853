package gallop

import (
	"errors"
	"io"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/conn"

	"github.com/gallop-http/gallop/internal/http1"
)

// fail ends the connection because of err. It sends a response if the request was wrong,
// late or refused, and the client can still read that response.
func (c *serverConn) fail(err error) error {
	if err == errPreface {
		return err
	}
	if err == conn.ErrIdle {
		c.EndIdle()
		return nil
	}
	if r, ok := err.(*refusal); ok {
		c.Counts().Refused.Add(1)
		err = c.answerRefusal(r.status)
		return err
	}
	public := c.publicError(err)
	if public == nil || c.Output.Err != nil {
		return err // the network failed, or the response did in its middle
	}
	if c.exchange == nil {
		return err
	}
	status := refusalStatus(public)
	c.Counts().Refused.Add(1)
	c.logRefusal(status, public)
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
	case clock.IsTimeout(err) && !c.Input.Held && !c.onlyBlankLines():
		return errSlowHead
	}
	return nil
}

// onlyBlankLines reports whether no byte of a request has arrived, other than the
// line ends that may stand before it.
func (c *serverConn) onlyBlankLines() bool {
	return !c.Input.Held && http1.EmptyLines(c.Input.Unread())
}

// answerError answers a request that is refused, and ends the connection.
func (c *serverConn) answerError(status int, err error) {
	ctx := &c.ctx
	if !c.Input.Held { // its head was refused
		c.exchange.begin(&c.Conn)
		c.exchange.settle(&c.Conn)
		c.noteHead(&ctx.Request.Header.head)
		c.writeLimit = c.set.Write
	}
	c.body.close()
	c.close = true
	if !c.refuse(status, err) {
		ctx.output().abort(c.exchange)
		return
	}
	c.lastWords()
}

// answerRefusal answers a request whose expectation was refused.
func (c *serverConn) answerRefusal(status int) error {
	c.refuseExpectation(status)
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
	if c.ctx.streams() {
		err = c.ctx.output().finish()
	} else {
		c.limitWriting()
		err = c.writeResponse()
	}
	if err == nil && c.Output.Flush() == nil {
		c.EndAbrupt()
		c.linger()
	}
}

// linger waits until the client has closed the connection, or has the loop do that later.
func (c *serverConn) linger() {
	if !c.LingerOnLoop() {
		c.Linger()
	}
}

// end ends a connection after its last response.
func (c *serverConn) end() error {
	if _, half := c.NC.(interface{ CloseWrite() error }); !half {
		c.body.drain() // as far as it goes, since linger cannot
	}
	if err := c.Output.Flush(); err != nil {
		return err
	}
	c.EndAbrupt()
	if !c.Input.Empty() || !c.body.ended() {
		c.linger()
	}
	return nil
}

// rejection returns what a client gets whose connection is beyond a limit.
func rejection(reason error) (status int, lastWords []byte) {
	status = StatusServiceUnavailable
	if reason == ErrPerIPConnLimit {
		status = StatusTooManyRequests
	}
	return status, lastResponse(status)
}

// lastResponse returns a response with this status behind which the connection is closed.
func lastResponse(status int) []byte {
	var h ResponseHeader
	h.SetStatusCode(status)
	h.SetContentType("text/plain; charset=utf-8")
	body := StatusMessage(status)
	out := outgoing{length: int64(len(body)), close: true, date: time.Now()}
	return append(h.appendHead(nil, &out), body...)
}
