package gallop

import (
	"time"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/message"
)

// serve serves requests until there is something else to do with the connection. It never returns Step.
func (c *serverConn) serve() conn.Next {
	for {
		n := c.WaitIdle()
		if n == conn.Step {
			n = c.readRequest(c.Now)
		} else if n == conn.Resume {
			n = c.resumeRequest()
		}
		if n == conn.Step {
			n = c.answerRequest()
		}
		switch {
		case c.hijacked:
			c.handed = nil
			return conn.Taken
		case n == conn.Ended:
			c.Err = c.fail(c.Err)
			return n
		case n != conn.Step:
			return n
		}
		if c.plain {
			c.plain = false
			if !c.recyclePlain() {
				c.recycle()
			}
		} else {
			if c.exchange != nil && c.ctx.hijackHandler != nil {
				return c.hijack()
			}
			if c.close {
				c.Err = c.end()
				return conn.Ended
			}
			c.recycle()
		}
		if c.Loop.Conn != nil && c.Input.Empty() && c.mayParkLater() {
			return conn.Later
		}
	}
}

// resumeRequest goes on with a request that was moved here, or whose head came in parts.
func (c *serverConn) resumeRequest() conn.Next {
	if c.ResumeMoved() {
		return conn.Step
	}
	return c.readRequest(c.ResumePartial())
}

// readRequest reads a request that has begun to arrive, as far as it has to be there before the handler is called.
func (c *serverConn) readRequest(began time.Time) conn.Next {
	if n := c.readHead(began); n != conn.Step {
		return n
	}
	if err := c.takeRequest(); err != nil {
		return c.EndedBy(err)
	}
	if c.Loop.Conn != nil && !c.mayRunHere() {
		return c.MoveTurn()
	}
	return conn.Step
}

// takeRequest judges the request whose head was read, and takes its body.
func (c *serverConn) takeRequest() error {
	x := c.exchange
	ctx := &x.ctx
	c.CountTurn()
	x.begin(&c.Conn)
	if !x.settled() || c.set.unusual {
		x.settle(&c.Conn)
	}
	c.noteHead(&ctx.Request.Header.head)
	x.maxBody, x.readTimeout, x.writeLimit = c.set.maxBody, c.set.Read, c.set.Write
	if err := x.checkRequest(&c.host); err != nil {
		return err
	}
	// The hooks below may change the header, but not where the request ends. So that is read from the header first.
	head := &ctx.Request.Header.head
	expects, announced := head.Flags&(message.ExpectContinue|message.ExpectOther), head.Length
	x.body.begin(head)
	if f := c.srv.HeaderReceived; f != nil {
		x.configure(f(&ctx.Request.Header))
	}
	if expects != 0 && !c.http10 {
		now, err := x.decideExpectation(expects)
		if now {
			err = c.sayContinue()
		}
		if err != nil {
			return err
		}
	}
	if x.body.ended() {
		ctx.life.canWatch = true
		if announced == 0 && x.streams {
			ctx.Request.setStream(emptyBody{}, 0)
		}
		return nil
	}
	return c.takeBody(announced)
}

// answerRequest calls the handler and writes the response.
func (c *serverConn) answerRequest() conn.Next {
	x := c.exchange
	ctx := &x.ctx
	var panicked, aborted bool
	if c.set.maxAtOnce == 0 {
		panicked, aborted = x.runHandler()
	} else {
		panicked, aborted = x.runOneOfMany()
	}
	if answer := ctx.LastTimeoutErrorResponse(); answer != nil {
		if c.exchange = x.detach(answer); c.exchange == nil {
			return c.EndedBy(errTimedOutLate)
		}
		c.close = true
		return c.EndedBy(c.respond())
	}
	if !panicked {
		if c.isPlain() {
			c.plain = true
			return c.EndedBy(c.respondPlain())
		}
	}
	if c.hijacked {
		return conn.Taken
	}
	if aborted || panicked && ctx.streams() {
		c.body.sever()
		c.ResetDeadlines()
		ctx.output().abort(c.exchange)
		return c.EndedBy(ErrAbortHandler)
	}
	last, err := x.afterHandler(panicked)
	if err != nil {
		return c.EndedBy(err)
	}
	c.close = c.close || last
	return c.EndedBy(c.respond())
}

// noteHead keeps what frames the response.
func (c *serverConn) noteHead(head *message.Head) {
	c.method, c.http10, c.keepAlive = head.MethodID, head.Minor == 0, head.Flags&message.LongConnection != 0
}

// recycle makes the connection ready for the next request.
func (c *serverConn) recycle() {
	if c.exchange != nil && !c.endExchange() { // before the head is gone, because user values look at it when they are closed
		c.exchange = nil
	}
	c.Input.ReleaseHead(c.set.Poison)
}

// releaseExchange ends a request that the connection ends with, or leaves it to its handlers.
func (c *serverConn) releaseExchange() {
	c.body.close()
	if c.ctx.LastTimeoutErrorResponse() != nil {
		c.abandon()
		return
	}
	c.stopWatching()
	if c.ctx.streams() { // its handler has ended its goroutine
		c.ctx.output().abort(c.exchange)
	}
	c.dropExchange()
}

// dropExchange gives the exchange back.
func (c *serverConn) dropExchange() {
	x := c.exchange
	if c.endExchange() {
		x.leaveWire()
		c.srv.spare.Put(x)
	}
	c.exchange = nil
}

// endExchange ends the request, and reports whether its exchange is ready for another one.
func (c *serverConn) endExchange() (again bool) {
	c.body.close()
	if again = c.recycleCtx(c.set.Poison) && !c.exchange.shared; !again {
		c.leaveWire()
	}
	c.awaits100 = false
	return again
}
