package gallop

import (
	"io"

	"github.com/gallop-http/gallop/internal/conn"

	"github.com/gallop-http/gallop/internal/clock"

	"github.com/gallop-http/gallop/internal/http1"
)

// readHead reads the head of a request, of which the first bytes are there.
func (c *serverConn) readHead() conn.Next {
	in := &c.Input
	if c.exchange == nil {
		c.exchange = c.newExchange()
	}
	c.began = c.Now
	c.resumeHead()
	var parser http1.Parser
	n, err := parser.ParseRequest(&c.ctx.Request.Header.head, in.Unread(), &c.set.head)
	if n == 0 {
		if err != nil {
			return c.EndedBy(err)
		}
		var what conn.Next
		if n, what = c.readRestOfHead(&parser); what != conn.Step {
			return what
		}
	}
	in.HeadAt = in.R
	in.R += n
	return conn.Step
}

// readRestOfHead reads on until the head is there to its end, and returns how long it is.
func (c *serverConn) readRestOfHead(parser *http1.Parser) (length int, n conn.Next) {
	in, head := &c.Input, &c.ctx.Request.Header.head
	for armed := false; ; armed = true {
		more := false
		if c.Loop.Conn != nil {
			if more, n = c.moreOfHead(); n != conn.Step {
				return 0, n
			}
		}
		if !more {
			if !armed {
				c.startClock()
				in.ArmExactly(clock.Earlier(clock.After(c.FirstBegan(c.began), c.set.First), clock.After(c.began, c.set.Read)))
			}
			if err := in.Fill(); err != nil {
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return 0, c.EndedBy(err)
			}
		}
		length, err := parser.ParseRequest(head, in.Unread(), &c.set.head)
		if length > 0 || err != nil {
			return length, c.EndedBy(err)
		}
	}
}

// startClock makes the time in which the server could not look at the request not count.
func (c *serverConn) startClock() {
	if c.Queued {
		c.Queued = false
		c.began = c.ReadClock()
	}
}
