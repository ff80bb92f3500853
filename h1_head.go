package gallop

import (
	"errors"
	"io"
	"time"

	"github.com/gallop-http/gallop/internal/http1"
)

// waitIdle waits for the first byte of a request, if none is there.
func (c *serverConn) waitIdle() next {
	if c.loop.pending { // one was read before the connection was moved here
		return nextStep
	}
	if c.loop.started {
		c.loop.started, c.queued = false, false
		c.report(StateActive)
		return nextStep
	}
	if c.queued = !c.input.empty(); c.queued {
		return nextStep
	}
	if c.loop.conn != nil {
		return c.waitOnLoop()
	}
	if err := c.output.flush(); err != nil {
		return c.endedBy(err)
	}
	timeout := c.set.idle
	if c.requests == 0 {
		timeout = shorter(timeout, c.set.readHead)
	} else {
		c.report(StateIdle)
	}
	c.publish()
	// In this order Shutdown either finds the connection idle, and its deadline is the
	// last one to be set, or has begun before, and is seen here.
	c.input.arm(timeout)
	if !c.entry.state.CompareAndSwap(phaseActive, phaseIdle) {
		return c.endedBy(errIdle)
	}
	var err error
	if c.mayNotIdle() {
		err = c.input.lastChance()
	} else {
		err = c.input.wait()
	}
	return c.beganRequest(err)
}

// beganRequest is the end of waitIdle: err is the result of waiting for the first byte.
func (c *serverConn) beganRequest(err error) next {
	begun := c.entry.begin()
	if err != nil {
		if err == io.EOF || isTimeout(err) {
			err = errIdle
		}
		return c.endedBy(err)
	}
	if !begun {
		c.outrun()
	}
	c.report(StateActive)
	return nextStep
}

// mayNotIdle reports whether the connection ends instead of waiting for a request.
func (c *serverConn) mayNotIdle() bool {
	return c.srv.ending.Load() || c.requests > 0 && c.srv.keepAlives.off.Load()
}

// errIdle ends a connection that brought no further request: no error to others.
var errIdle = errors.New("no further request")

// readHead reads the head of a request, of which the first bytes are there.
func (c *serverConn) readHead() next {
	in := &c.input
	if c.exchange == nil {
		c.exchange = c.newExchange()
	}
	c.began = c.now
	c.resumeHead()
	var parser http1.Parser
	n, err := parser.ParseRequest(&c.ctx.Request.Header.head, in.unread(), &c.set.head)
	if n == 0 {
		if err != nil {
			return c.endedBy(err)
		}
		var what next
		if n, what = c.readRestOfHead(&parser); what != nextStep {
			return what
		}
	}
	in.headAt = in.r
	in.r += n
	return nextStep
}

// readRestOfHead reads on until the head is there to its end, and returns how long it is.
func (c *serverConn) readRestOfHead(parser *http1.Parser) (length int, n next) {
	in, head := &c.input, &c.ctx.Request.Header.head
	for armed := false; ; armed = true {
		more := false
		if c.loop.conn != nil {
			if more, n = c.moreOfHead(); n != nextStep {
				return 0, n
			}
		}
		if !more {
			if !armed {
				c.startClock()
				in.armExactly(earlier(after(c.headBegan(), c.set.readHead), after(c.began, c.set.read)))
			}
			if err := in.fill(); err != nil {
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return 0, c.endedBy(err)
			}
		}
		length, err := parser.ParseRequest(head, in.unread(), &c.set.head)
		if length > 0 || err != nil {
			return length, c.endedBy(err)
		}
	}
}

// startClock makes the time in which the server could not look at the request not count.
func (c *serverConn) startClock() {
	if c.queued {
		c.queued = false
		c.began = c.readClock()
	}
}

// headBegan is when the time for the head began. That of the first request includes
// the wait for its first byte: a client that delays both may not have it twice.
func (c *serverConn) headBegan() time.Time {
	if c.requests == 0 {
		_, ready := c.begun()
		return ready
	}
	return c.began
}
