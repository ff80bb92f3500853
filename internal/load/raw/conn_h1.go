package raw

import "github.com/gallop-http/gallop/internal/load/script"

// h1 is the state of HTTP/1.1 on a connection.
type h1 struct {
	flights queue[*user] // in the order of their requests, which is also that of the responses
	reader  reader
	last    bool // the first request has its response, and the server must close the connection now
}

// sendHTTP1 writes a request. Unless requests are pipelined, it does so at once.
func (c *conn) sendHTTP1(u *user) {
	t := c.t
	c.h1.flights.push(u)
	wire := u.req.Wire
	if len(wire) == 0 {
		t.out = u.req.appendWire(t.out[:0], t.Authority)
		wire = t.out
	}
	u.series().BytesOut += int64(len(wire))
	if t.each > 1 || len(c.out) > 0 {
		c.out = append(c.out, wire...)
		c.sending.push(u)
		c.soil()
		return
	}
	n, err := t.io.write(c, wire)
	t.tick()
	switch {
	case err != nil:
		c.end(classify(err))
	case n < len(wire):
		c.out = append(c.out, wire[n:]...)
		c.sending.push(u)
	default:
		c.wroteRequest(u)
	}
}

// followHTTP1 does what the request of a user wants after it was written.
func (c *conn) followHTTP1(u *user) {
	switch u.req.After {
	case script.Shut:
		if err := c.t.io.shut(c); err != nil {
			c.end(classify(err))
		}
	case script.Reset:
		c.t.io.reset(c)
		c.leave(u)
		u.endReset()
		c.t.pump()
	}
}

// inputHTTP1 reads the responses in p.
func (c *conn) inputHTTP1(p []byte) {
	if len(c.in) > 0 {
		c.in = append(c.in, p...)
		p = c.in
	}
	for len(p) > 0 {
		if c.h1.flights.len() == 0 {
			c.endIdle() // nothing was asked; servers announce like this that they close
			break
		}
		u := c.h1.flights.first()
		if u.heard == 0 {
			u.heard = c.t.now
		}
		if c.h1.last {
			c.leave(u)
			u.fail(errBehind)
			break
		}
		n, done, err := c.h1.reader.feed(p, &u.req, &u.resp, c.t.MaxBody)
		u.bytesIn += int64(n)
		p = p[n:]
		if done && len(p) > 0 && c.h1.flights.len() == 1 {
			err = errBehind
		}
		if err != nil {
			c.leave(u)
			u.fail(classify(err))
			break
		}
		if !done {
			break
		}
		if c.completeFirst(); c.state != opened {
			break
		}
	}
	c.in = append(c.in[:0], p...)
	c.t.pump()
}

// completeFirst ends the first request, whose response is complete, unless the server must also close the connection.
func (c *conn) completeFirst() {
	if after := c.h1.flights.first().req.After; after == script.Close || after == script.Shut {
		c.h1.last = true
		return
	}
	u := c.h1.flights.pop()
	lasts := c.h1.reader.lasts && u.wrote != 0
	c.h1.reader.next()
	c.free = c.t.now
	u.complete()
	switch {
	case !lasts:
		c.leave(nil)
	case c.worn && c.h1.flights.len() == 0:
		c.t.remove(c)
	default:
		c.list()
	}
}

// leave closes the connection. Requests on it are repeated elsewhere, except for that of the user u, which is left to the
// caller.
func (c *conn) leave(u *user) {
	c.t.remove(c)
	for c.h1.flights.len() > 0 {
		if other := c.h1.flights.pop(); other == u {
			continue
		} else if other.retried {
			other.fail(errOther)
		} else {
			other.retry()
		}
	}
}

// endHTTP1 ends the requests of a connection that has ended. The first one is complete, fails or was raced. The server has
// not looked at those behind it.
func (c *conn) endHTTP1(err *failure) {
	u := c.h1.flights.first()
	switch {
	case c.h1.last || err == errClosed && c.h1.reader.end():
		c.t.tick()
		c.leave(u)
		u.complete()
	case c.isRaced(u, err):
		c.leave(nil)
	default:
		if err == errClosed && (c.h1.reader.begun() || len(c.in) > 0) {
			err = errCut
		}
		c.leave(u)
		u.fail(err)
	}
}
