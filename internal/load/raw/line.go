package raw

import (
	"fmt"
	"time"
)

// lines are the connections of a thread, and the users that wait for one.
type lines struct {
	t       *thread
	conns   []*conn       // all, in no order
	free    queue[*conn]  // may carry another request; some may be closed or full meanwhile
	line    queue[*user]  // wait for a connection; some may have given up meanwhile
	open    int           // connections that are open or connecting and may carry requests
	dialing int           // the part of open that connects
	limit   int           // of open; 0: unlimited
	each    int           // requests per connection at a time
	owned   bool          // each user has a connection of its own
	pumping bool          // pump runs
	standAt time.Duration // no standing connection is opened before that, because one has failed
	holding int           // connections to hold that are not open yet
	heldErr error         // why one of them could not be opened
	dirty   []*conn       // have output that waits for the end of a turn
}

func (l *lines) init(t *thread) {
	l.t, l.each, l.owned = t, t.perConn(), t.ownConns()
	switch {
	case t.Conns > 0:
		l.limit = int(t.part.Share(int64(t.Conns)))
	case t.http2 && !t.anyOpen:
		l.limit = 1
	}
}

// assign finds a connection for a user that waits. In open loops, it opens further ones if all are busy.
func (l *lines) assign(u *user) {
	if u.req.Alone {
		l.dial(u)
		return
	}
	if l.owned {
		if u.own != nil {
			u.own.send(u)
		} else {
			l.dial(u)
		}
		return
	}
	if l.t.Conns > 0 && !l.t.Standing && l.mayDial() {
		l.dial(u) // so that all connections are used
	} else if c := l.take(); c != nil {
		c.send(u)
		c.list()
	} else if l.mayDial() {
		l.dial(u)
	} else {
		l.line.push(u)
	}
}

// mostDialing is how many connections of a thread connect at a time. It is only reached if many requests become due within a
// round trip. Then a request may also take a connection that becomes idle, which is cheaper.
const mostDialing = 64

// mayDial reports whether a further connection may be opened. If connections carry several requests, those that connect
// perhaps have room enough for the users that wait.
func (l *lines) mayDial() bool {
	switch {
	case l.limit > 0 && l.open >= l.limit, l.dialing >= mostDialing:
		return false
	case l.t.Conns > 0 || l.each == 1:
		return true
	}
	return l.dialing*l.each <= l.line.len()
}

// take returns a connection that has room, or nil. It takes them in turn. If there may be any number of connections, it takes
// the one that was used last, so that connections from a time of need stay idle.
func (l *lines) take() *conn {
	for l.free.len() > 0 {
		var c *conn
		if l.limit == 0 && l.each == 1 {
			c = l.free.popLast()
		} else {
			c = l.free.pop()
		}
		c.listed = false
		if c.hasRoom() {
			return c
		}
	}
	return nil
}

// hasRoom reports whether a request could be sent, or a connection opened for it.
func (l *lines) hasRoom() bool {
	for l.free.len() > 0 && !l.free.first().hasRoom() {
		l.free.pop().listed = false
	}
	return l.free.len() > 0 || l.open < l.limit
}

// pump gives connections to the users that wait, and to iterations that are due.
func (l *lines) pump() {
	if l.pumping {
		return
	}
	l.pumping = true
	for l.line.len() > 0 {
		u := l.line.first()
		if u.state != waiting || u.conn != nil {
			l.line.pop()
			continue
		}
		if c := l.take(); c != nil {
			l.line.pop()
			c.send(u)
			c.list()
		} else if l.mayDial() && l.dialing*l.each < l.line.len() {
			l.line.pop()
			l.dial(u)
		} else {
			break
		}
	}
	l.pumping = false
	if l.line.len() == 0 && l.hasRoom() {
		l.t.release()
	}
}

// openStanding opens standing connections that are missing, without a user.
func (l *lines) openStanding() {
	for l.t.Standing && l.open < l.limit && l.dialing < mostDialing && l.t.now >= l.standAt {
		c := l.newConn()
		l.open++
		l.dialing++
		l.connect(c)
	}
}

// dial opens a connection for a user.
func (l *lines) dial(u *user) {
	c := l.newConn()
	c.opener, u.opens, u.conn = u, true, c
	switch {
	case u.req.Alone:
		c.alone, c.worn = true, true
	case l.owned:
		c.owner, u.own = u, c
	}
	if !c.alone {
		l.open++
		l.dialing++
	}
	l.connect(c)
}

func (l *lines) newConn() *conn {
	c := &conn{t: l.t, pos: len(l.conns)}
	l.conns = append(l.conns, c)
	return c
}

// connect begins to connect.
func (l *lines) connect(c *conn) {
	t := l.t
	c.began, c.dialBy = t.now, t.now+t.DialTimeout
	t.deadline = min(t.deadline, c.dialBy)
	if err := t.io.open(c); err != nil {
		c.end(classify(err))
	}
}

// remove closes a connection. Requests on it are left to the caller.
func (l *lines) remove(c *conn) {
	if c.state == closed {
		return
	}
	if !c.held && !c.alone {
		if c.state == connecting {
			l.dialing--
		}
		l.open--
	}
	c.state = closed
	last := len(l.conns) - 1
	l.conns[c.pos] = l.conns[last]
	l.conns[c.pos].pos = c.pos
	l.conns[last] = nil
	l.conns = l.conns[:last]
	if c.owner != nil {
		c.owner.own, c.owner = nil, nil
	}
	l.t.io.close(c)
}

// drop closes a connection without requests.
func (l *lines) drop(c *conn) { l.remove(c) }

// closeAll closes all connections.
func (l *lines) closeAll() {
	for len(l.conns) > 0 {
		l.remove(l.conns[len(l.conns)-1])
	}
}

// hold opens n connections that carry no requests, and waits until they are open.
func (l *lines) hold(n int) error {
	t := l.t
	const together = 128 // more could exceed the queue of the listener
	for n > 0 || l.holding > 0 {
		for ; n > 0 && l.holding < together; n-- {
			c := l.newConn()
			c.held = true
			l.holding++
			l.connect(c)
		}
		if l.heldErr == nil {
			t.io.wait(glance)
			t.tick()
		}
		if t.now >= t.deadline {
			t.expire()
		}
		if err := t.shared.ctx.Err(); err != nil {
			l.heldErr = err
		}
		if l.heldErr != nil {
			return fmt.Errorf("raw: %d connections to hold could not be opened: %w", n+l.holding, l.heldErr)
		}
	}
	return nil
}

// flush writes what connections have collected in a turn.
func (t *thread) flush() {
	for len(t.dirty) > 0 {
		last := len(t.dirty) - 1
		c := t.dirty[last]
		t.dirty = t.dirty[:last]
		c.isDirty = false
		if c.state == opened {
			c.flush()
		}
	}
}

// connected is called by the driver when a connection is open. secured is when the handshake of TLS began, or 0.
func (t *thread) connected(c *conn, handshake time.Duration, resumed bool) {
	t.tick()
	c.state, c.free = opened, t.now
	t.period.Opened++
	if resumed {
		t.period.Resumed++
	}
	if c.held {
		t.holding--
		return
	}
	if !c.alone {
		t.dialing--
	}
	if t.http2 {
		c.startHTTP2()
	}
	u := c.opener
	c.opener = nil
	if u != nil && u.state == waiting && u.conn == c {
		u.secure = handshake
		u.connect = max(0, t.now-c.began-handshake)
		c.send(u)
	}
	c.list()
	t.pump()
}
