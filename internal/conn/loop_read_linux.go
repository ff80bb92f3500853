package conn

import (
	"bytes"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/poll"
)

// partialInput is what has arrived of something that the wire can only serve when it is complete.
type partialInput struct {
	bytes   []byte
	began   time.Time
	stashed uint8 // how often it was put aside
}

// startWith begins a turn with what the loop has read, as waitOnLoop would.
func (c *Conn) startWith(p []byte, more bool) {
	in := &c.Input
	in.AllRead = !more
	in.counted += int64(len(p))
	if len(p) <= cap(in.buf) {
		in.buf = append(in.buf[:0], p...)
	} else {
		in.buf = append(bufpool.Grow(in.buf[:0], max(len(p), c.Set.ReadBuf)), p...)
	}
	if !c.Entry.move(phaseIdle, phaseStarted) {
		c.beginLate(phaseStarted)
	}
}

// takeAhead takes what the loop has read from the connection, as tryRead would.
func (c *Conn) takeAhead() Next {
	p, more, err := c.Loop.Worker.TakeAhead()
	in := &c.Input
	in.AllRead = !more
	if err == nil {
		in.makeRoom()
		in.buf = append(bufpool.Grow(in.buf, len(p)+1), p...)
		in.counted += int64(len(p))
	} else if err == syscall.EAGAIN {
		return Park
	}
	return c.EndedBy(err)
}

// waitOnLoop reads the first bytes of a turn. If none have arrived, it returns Park.
func (c *Conn) waitOnLoop() Next {
	if err := c.Output.Flush(); err != nil {
		return c.EndedBy(err)
	}
	waited := c.Entry.waits() // until the loop had it served
	if !waited {
		c.reportTurn(StateIdle)
		c.Entry.become(phaseIdle)
	}
	n := Step
	if c.Loop.Worker.HasAhead(&c.Loop.Conn.Conn) {
		n = c.takeAhead()
	} else {
		n = c.tryRead(!waited)
	}
	var err error
	switch now := c.Entry.now(); {
	case n == Step:
	case n == Ended:
		err = c.Err
	case now == phaseEnding:
		err = ErrIdle
	case now == phaseIdle && c.mayNotIdle():
		err = c.Input.lastChance()
	default:
		return n
	}
	return c.beganTurn(err)
}

// moreOnLoop reads more bytes in the middle of a turn. If none have arrived, it returns Park.
func (c *Conn) moreOnLoop() Next {
	if c.Loop.Worker.HasAhead(&c.Loop.Conn.Conn) {
		return c.takeAhead()
	}
	return c.tryRead(true)
}

// tryRead appends the bytes that have arrived to the input, and has Now say when, unless it does already. If none have
// arrived, it returns Park.
func (c *Conn) tryRead(look bool) Next {
	lc := c.Loop.Conn
	in := &c.Input
	if in.AllRead && !lc.Ended() {
		return Park
	}
	if in.Empty() {
		in.R, in.HeadAt, in.buf = 0, 0, in.buf[:0]
	}
	in.makeRoom()
	free := in.buf[len(in.buf):cap(in.buf)]
	var n int
	var err error
	if t := lc.TLS(); t != nil {
		n, err = t.tryRead(free)
	} else {
		n, err = lc.TryRead(free)
		in.AllRead = n < len(free)
	}
	if err == syscall.EAGAIN {
		in.AllRead = true
		return Park
	}
	if err != nil {
		return c.EndedBy(err)
	}
	if look {
		c.Now = c.Loop.Worker.Now()
	}
	in.Count(n)
	in.buf = in.buf[:len(in.buf)+n]
	return Step
}

// maxStashes is how often a partialInput is put aside, to be looked at from its beginning when more has come. One in more
// pieces is waited for.
const maxStashes = 8

// StartAhead begins a turn with what the loop has read from the connection, if it has.
func (c *Conn) StartAhead(w *poll.Worker, pc *poll.Conn) {
	if !c.Loop.Conn.isPartial() {
		if p, more, ok := w.TakeBytes(pc); ok {
			c.startWith(p, more)
		}
	}
}

// ResumePartial goes on with a partialInput, and returns when that began to arrive.
func (c *Conn) ResumePartial() (began time.Time) {
	c.Entry.become(phaseActive)
	return c.Loop.Conn.partial().began
}

// MoreInput reads more of what the wire needs completely. If there is no more, and n is Park, then the wire calls
// PutAside. If there is no more, and n is Step, it waits.
func (c *Conn) MoreInput() (more bool, n Next) {
	lc := c.Loop.Conn
	if part := lc.partial(); part != nil && part.stashed >= maxStashes {
		return false, Step
	}
	if err := c.Output.Flush(); err != nil {
		return false, c.EndedBy(err)
	}
	switch c.tryRead(true) {
	case Step:
		return true, Step
	case Ended: // the read that waits returns the same error
		return false, Step
	}
	return false, Park
}

// PutAside keeps what has arrived since began until there is more.
func (c *Conn) PutAside(began time.Time) {
	lc, stashed := c.Loop.Conn, uint8(1)
	if part := lc.partial(); part != nil {
		stashed += part.stashed
	}
	lc.setPartial(&partialInput{bytes.Clone(c.Input.Unread()), began, stashed})
	c.Entry.become(phasePartial)
}

// DropPartial is called when the wire has all that it waited for.
func (c *Conn) DropPartial() {
	if c.Loop.Conn.isPartial() {
		c.Loop.Conn.setPartial(nil)
	}
}
