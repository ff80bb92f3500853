package conn

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/poll"
)

// ErrIdle ends a connection that has brought nothing more. It is routine.
var ErrIdle = errors.New("the connection stayed idle")

// Yield lets other connections have their turn. It is for a goroutine that serves a connection on which more arrives all the time.
func (c *Conn) Yield() { poll.Yield() }

// WaitIdle waits for the first byte of a turn, if none is there. It returns Resume if it has none to wait for.
func (c *Conn) WaitIdle() Next {
	switch now := c.Entry.now(); {
	case now == phaseStarted && c.Loop.fresh(c.Turns) && !c.Input.Empty():
		c.reportTurn(StateActive)
		return Step
	case now == phaseQueued && !c.Input.Empty():
		return Step
	case now == phasePartial || now == phasePending:
		return Resume
	}
	if !c.Input.Empty() {
		c.Entry.become(phaseQueued)
		return Step
	}
	if c.Loop.Conn != nil {
		return c.waitOnLoop()
	}
	if err := c.flushBeforeIdle(); err != nil {
		return c.EndedBy(err)
	}
	timeout := c.Set.Idle
	if c.Turns == 0 {
		timeout = clock.Shorter(timeout, c.Set.First)
	} else {
		c.reportTurn(StateIdle)
	}
	if !c.IdleBy.IsZero() {
		timeout = max(c.IdleBy.Sub(c.Now), 1)
	}
	if c.Wakeable {
		c.publishTurns()
	} else {
		c.Publish()
	}
	// In this order Shutdown either finds the connection idle, and its deadline is the
	// last one to be set, or has begun before, and is seen here.
	c.Input.arm(timeout)
	if c.Wakeable && c.waking.begin() { // behind arm, which would undo what Wake does
		return Step
	}
	c.Entry.become(phaseIdle)
	var err error
	if c.mayNotIdle() {
		err = c.Input.lastChance()
	} else {
		err = c.Input.wait()
	}
	if c.Wakeable {
		err = c.endWakeable(err)
	}
	return c.beganTurn(err)
}

// flushBeforeIdle sends what was gathered, and has Now say when the connection becomes idle.
func (c *Conn) flushBeforeIdle() error {
	if c.Wakeable { // another goroutine may be writing
		c.readClock()
		return nil
	}
	looked := c.Output.looked
	if err := c.Output.Flush(); err != nil {
		return err
	}
	if c.Turns > 0 {
		if c.Now = c.Output.looked; c.Now.Equal(looked) { // nothing was written, or without a look at the clock
			c.readClock()
		}
	}
	return nil
}

// beganTurn is the end of WaitIdle: err is the result of waiting for the first byte.
func (c *Conn) beganTurn(err error) Next {
	if err != nil {
		c.Entry.giveUp()
		if err == io.EOF || clock.IsTimeout(err) {
			err = ErrIdle
		}
		return c.EndedBy(err)
	}
	if !c.Entry.move(phaseIdle, phaseActive) {
		c.beginLate(phaseActive)
	}
	c.reportTurn(StateActive)
	return Step
}

// beginLate begins a turn of a connection whose time to wait is nearly over, or was over when bytes arrived. It does nothing for
// a connection that was parked in the middle of a turn.
func (c *Conn) beginLate(turn phase) {
	if !c.Entry.waits() || c.Entry.move(phaseLast, turn) {
		return
	}
	c.Server.Table.isClosing() // waits for EndWarned, which is waking the connection
	c.Entry.move(phaseEnding, turn)
	if c.Loop.Conn == nil {
		c.Input.Deadline = time.Time{}
		c.NC.SetReadDeadline(time.Time{})
	}
}

// StartClock reads the clock if the turn had to wait for the server, so that this time does not count. It reports whether
// it did.
func (c *Conn) StartClock() bool {
	if !c.Entry.is(phaseQueued) {
		return false
	}
	c.Entry.become(phaseActive)
	c.readClock()
	return true
}

// MoveTurn is how a step ends that has another goroutine call the program for the turn.
func (c *Conn) MoveTurn() Next {
	c.Entry.become(phasePending)
	return Move
}

// ResumeMoved goes on with a turn that was moved here. It reports false if the turn has a partialInput instead.
func (c *Conn) ResumeMoved() bool {
	if c.Entry.is(phasePartial) {
		return false
	}
	c.Entry.become(phaseQueued)
	return true
}

// EndWaiting is called before the wire ends a connection of its own accord, which may be waiting for bytes.
func (c *Conn) EndWaiting() { c.Entry.giveUp() }

// CountTurn counts a turn of the wire.
func (c *Conn) CountTurn() {
	if c.Turns++; c.Turns == 1 {
		c.Entry.marks.Or(markServed)
	}
	c.counted++
}

// BeginClosing is called before the connection is closed. Table.CloseAll leaves it alone from then on.
func (c *Conn) BeginClosing() { c.Entry.become(phaseClosing) }

// mayNotIdle reports whether the connection ends instead of becoming idle.
func (c *Conn) mayNotIdle() bool {
	return c.Server.Ending.Load() || c.Turns > 0 && c.Server.NoIdle.Load()
}

// FirstBegan is when the time for what the wire waits for began, if that began to arrive at began. In the first turn,
// it includes the wait for the first byte: a client that delays both may not have it twice.
func (c *Conn) FirstBegan(began time.Time) time.Time {
	if c.Turns == 0 {
		_, ready := c.Begun()
		return ready
	}
	return began
}

// Date is when what is written now was made. With more bytes at hand, for which one look at the clock has to do, it is
// the time of the last bytes read.
func (c *Conn) Date() time.Time {
	if ended := c.Loop.Ended; !ended.IsZero() {
		c.Loop.Ended = time.Time{}
		return ended
	}
	if c.Input.Empty() && !c.Loop.Leads() {
		now := c.Now.Add(time.Since(c.Now)) // half as dear as time.Now
		if c.Loop.Conn == nil {             // those of a loop look at the clock when they have to wait
			c.Output.Now = now
		}
		return now
	}
	return c.Now
}

// FlushAside writes what there is to write while the client may do the same, and is not
// going to read before.
func (c *Conn) FlushAside() <-chan error {
	flushed := make(chan error, 1)
	if len(c.Output.Buf) == 0 || c.Output.Err != nil {
		flushed <- c.Output.Err
		return flushed
	}
	go func() { flushed <- c.Output.Flush() }()
	return flushed
}

// BeginAbrupt makes the connection end with a reset and without a TLS close_notify, even if the process is killed, until
// EndAbrupt is called. The client cannot take such an end for the end of what it was sent. Closing the whole server may
// still end the connection in order.
func (c *Conn) BeginAbrupt() {
	c.abrupt = true
	c.setLinger(0)
}

// EndAbrupt makes the connection end in order again.
func (c *Conn) EndAbrupt() {
	if c.abrupt {
		c.setLinger(-1)
		c.abrupt = false
	}
}

// Closing returns what is to be closed to end the connection: the connection below TLS if it ends abruptly, so that no
// close_notify is sent.
func (c *Conn) Closing() net.Conn {
	if c.abrupt {
		if tc, ok := c.NC.(interface{ NetConn() net.Conn }); ok {
			return tc.NetConn()
		}
	}
	return c.NC
}

// setLinger does what SetLinger of a net.TCPConn does, if the connection is one.
func (c *Conn) setLinger(seconds int) {
	if c.Loop.Conn != nil {
		c.lingerOnLoop(seconds)
	} else if tc, ok := c.Closing().(interface{ SetLinger(int) error }); ok {
		_ = tc.SetLinger(seconds)
	}
}
