package gallop

import (
	"io"

	"github.com/gallop-http/gallop/internal/clock"

	"github.com/gallop-http/gallop/internal/http1"
)

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
				in.armExactly(clock.Earlier(clock.After(c.firstBegan(c.began), c.set.first), clock.After(c.began, c.set.read)))
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
