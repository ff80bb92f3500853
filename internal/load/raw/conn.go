package raw

import (
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// conn is a connection. It has HTTP/1.1 (conn_h1.go) or, if h2 is set, HTTP/2 (conn_h2.go).
type conn struct {
	t     *thread
	pos   int // in thread.conns
	state connState
	held  bool // it carries no requests

	owner   *user // the only user, if users have connections of their own
	opener  *user // waits for this connection while it connects
	asked   int   // requests that were sent
	free    time.Duration
	listed  bool // in lines.free
	isDirty bool // in lines.dirty
	worn    bool // it gets no further requests
	alone   bool // it is for one request, beside the connections of the run
	began   time.Duration
	dialBy  time.Duration

	in      []byte // start of a message that has not arrived completely
	out     []byte // output from index sentOut on
	sentOut int
	sending queue[*user] // their requests are in out, wholly or in part

	h1 h1
	h2 *session

	sock socket // of the driver with epoll
	link *link  // of the driver with goroutines
}

type connState uint8

const (
	connecting connState = iota
	opened
	closed
)

// leastIdle is how long a connection must have been idle, so that a request on it is repeated if the connection was closed
// before the response. Servers close idle connections after seconds. If a busy connection is closed, that is a failure.
const leastIdle = 5 * time.Millisecond

// hasRoom reports whether the connection can take another request now.
func (c *conn) hasRoom() bool {
	switch {
	case c.state != opened || c.worn:
		return false
	case c.h2 != nil:
		return c.h2.room() > 0
	}
	return c.h1.flights.len() < c.t.each
}

// list makes the connection available if it has room.
func (c *conn) list() {
	if !c.t.owned && !c.listed && !c.held && c.hasRoom() {
		c.listed = true
		c.t.lines.free.push(c)
	}
}

// send sends the request of a user.
func (c *conn) send(u *user) {
	u.flies(c)
	c.asked++
	c.worn = c.worn || c.t.PerConn > 0 && c.asked >= c.t.PerConn || u.req.After != script.Keep && c.h2 == nil
	if c.h2 != nil {
		c.sendHTTP2(u)
		return
	}
	c.sendHTTP1(u)
}

// soil makes the connection flush its output at the end of the turn, so that several requests share a write.
func (c *conn) soil() {
	if !c.isDirty {
		c.isDirty = true
		c.t.dirty = append(c.t.dirty, c)
	}
}

// flush writes as much output as possible.
func (c *conn) flush() {
	if c.h2 != nil {
		c.flushHTTP2()
		return
	}
	if c.sentOut < len(c.out) {
		n, err := c.t.io.write(c, c.out[c.sentOut:])
		if c.sentOut += n; err != nil {
			c.end(classify(err))
			return
		}
	}
	if c.sentOut == len(c.out) {
		c.out, c.sentOut = c.out[:0], 0
		c.wroteAll()
	}
}

// hasOutput reports whether output waits to be written.
func (c *conn) hasOutput() bool {
	return len(c.out) > 0 || c.h2 != nil && len(c.h2.engine.Out()) > 0
}

// wroteAll notes that all output was written.
func (c *conn) wroteAll() {
	if c.sending.len() == 0 {
		return
	}
	c.t.tick()
	for c.sending.len() > 0 {
		if u := c.sending.pop(); u.state == flying && u.conn == c && u.wrote == 0 {
			c.wroteRequest(u)
		}
	}
}

// wroteRequest is called when the request of a user was written completely.
func (c *conn) wroteRequest(u *user) {
	u.wrote = c.t.now
	if u.req.After != script.Keep && c.h2 == nil {
		c.followHTTP1(u)
	}
}

// writable is called by the driver when the connection can take output again.
func (c *conn) writable() {
	if c.state == opened {
		c.flush()
	}
}

// input is called by the driver with bytes that have arrived. They are valid until input returns.
func (c *conn) input(p []byte) {
	c.t.tick()
	switch {
	case c.held || c.state != opened:
	case c.h2 != nil:
		c.inputHTTP2(p)
	default:
		c.inputHTTP1(p)
	}
}

// end is called when the connection has ended because of err, which is errClosed if the server has closed it.
func (c *conn) end(err *failure) {
	t := c.t
	switch {
	case c.state == closed:
		return
	case c.state == connecting:
		c.endConnecting(err)
	case c.h2 != nil:
		c.endHTTP2(err)
	case c.h1.flights.len() > 0:
		c.endHTTP1(err)
	default:
		c.endIdle()
	}
	t.pump()
}

func (c *conn) endConnecting(err *failure) {
	c.t.remove(c)
	if c.held {
		c.t.heldErr = err
		return
	}
	if c.opener == nil { // a request that finds no connection dials itself, and reports the error
		c.t.standAt = c.t.now + failedPause
	} else if u := c.opener; u.state == waiting && u.conn == c {
		u.failToConnect(err)
	}
}

// endIdle removes a connection without requests that the server has closed.
func (c *conn) endIdle() {
	c.t.tick()
	c.t.period.Closed++
	c.t.remove(c)
}

// giveUp ends the request of a user that has taken too long.
func (c *conn) giveUp(u *user) {
	if c.h2 != nil {
		c.cancel(u)
		u.fail(errTimeout)
		return
	}
	err := errTimeout
	if c.h1.last {
		err = errStaysOpen
	}
	c.leave(u)
	u.fail(err)
}

// abandon ends the request of a user at the end of the scenario.
func (c *conn) abandon(u *user) {
	if c.h2 != nil {
		c.cancel(u)
		return
	}
	c.leave(u)
}

// isRaced reports whether a request probably met a connection that the server had closed because it was idle.
func (c *conn) isRaced(u *user, err *failure) bool {
	return !u.retried && u.heard == 0 && u.idle >= leastIdle && (err.kind == "closed" || err.kind == "reset")
}
