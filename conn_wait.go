package gallop

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
)

// errIdle ends a connection that has brought nothing more. It is routine.
var errIdle = errors.New("the connection stayed idle")

// waitIdle waits for the first byte of a turn, if none is there.
func (c *connection) waitIdle() next {
	if c.loop.pending { // it was read before the connection was moved here
		return nextStep
	}
	if c.loop.started {
		c.loop.started, c.queued = false, false
		c.report(connActive)
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
	if c.turns == 0 {
		timeout = clock.Shorter(timeout, c.set.first)
	} else {
		c.report(connIdle)
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
	return c.beganTurn(err)
}

// beganTurn is the end of waitIdle: err is the result of waiting for the first byte.
func (c *connection) beganTurn(err error) next {
	begun := c.entry.begin()
	if err != nil {
		if err == io.EOF || clock.IsTimeout(err) {
			err = errIdle
		}
		return c.endedBy(err)
	}
	if !begun {
		c.outrun()
	}
	c.report(connActive)
	return nextStep
}

// outrun makes a connection active whose time to wait was over when bytes arrived.
func (c *connection) outrun() {
	c.hub.table.isClosing() // waits for endWarned, which is waking the connection
	c.entry.state.Store(phaseActive)
	if c.loop.conn == nil {
		c.input.deadline = time.Time{}
		c.nc.SetReadDeadline(time.Time{})
	}
}

// countTurn counts a turn of the wire.
func (c *connection) countTurn() {
	if c.turns++; c.turns == 1 {
		c.entry.served.Store(true)
	}
	c.counted++
}

// mayNotIdle reports whether the connection ends instead of becoming idle.
func (c *connection) mayNotIdle() bool {
	return c.hub.ending.Load() || c.turns > 0 && c.hub.noIdle.Load()
}

// firstBegan is when the time for what the wire waits for began, if that began to arrive at began. In the first turn,
// it includes the wait for the first byte: a client that delays both may not have it twice.
func (c *connection) firstBegan(began time.Time) time.Time {
	if c.turns == 0 {
		_, ready := c.begun()
		return ready
	}
	return began
}

// date is when what is written now was made. With more bytes at hand, for which one look at the clock has to do, it is
// the time of the last bytes read.
func (c *connection) date() time.Time {
	if ended := c.loop.ended; !ended.IsZero() {
		c.loop.ended = time.Time{}
		return ended
	}
	if c.input.empty() && !c.loop.leads() {
		now := c.now.Add(time.Since(c.now)) // half as dear as time.Now
		if c.loop.conn == nil {             // those of a loop look at the clock when they have to wait
			c.output.now = now
		}
		return now
	}
	return c.now
}

// flushAside writes what there is to write while the client may do the same, and is not
// going to read before.
func (c *connection) flushAside() <-chan error {
	flushed := make(chan error, 1)
	if len(c.output.buf) == 0 || c.output.err != nil {
		flushed <- c.output.err
		return flushed
	}
	go func() { flushed <- c.output.flush() }()
	return flushed
}

// beginAbrupt makes the connection end with a reset and without a TLS close_notify, even if the process is killed, until
// endAbrupt is called. The client cannot take such an end for the end of what it was sent. Closing the whole server may
// still end the connection in order.
func (c *connection) beginAbrupt() {
	c.abrupt = true
	c.setLinger(0)
}

// endAbrupt makes the connection end in order again.
func (c *connection) endAbrupt() {
	if c.abrupt {
		c.setLinger(-1)
		c.abrupt = false
	}
}

// closing returns what is to be closed to end the connection: the connection below TLS if it ends abruptly, so that no
// close_notify is sent.
func (c *connection) closing() net.Conn {
	if tc, ok := c.nc.(interface{ NetConn() net.Conn }); ok && c.abrupt {
		return tc.NetConn()
	}
	return c.nc
}

// setLinger does what SetLinger of a net.TCPConn does, if the connection is one.
func (c *connection) setLinger(seconds int) {
	if c.loop.conn != nil {
		c.lingerOnLoop(seconds)
	} else if tc, ok := c.closing().(interface{ SetLinger(int) error }); ok {
		_ = tc.SetLinger(seconds)
	}
}
