package conn

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/poll"
)

// LoopConn is a connection of a loop between two stays with a connection that serves it: all there is of one that is idle.
type LoopConn struct {
	poll.Conn
	Entry Entry
	ID    uint64
	Turns uint64
	since time.Time
}

// loopParts are what few connections of a loop have, see rareParts.
type loopParts struct {
	tls     *loopTLS
	partial *partialInput
}

// IsTLS reports whether the connection is one of TLS.
func (lc *LoopConn) IsTLS() bool { return lc.Entry.rare != nil && lc.Entry.rare.tls != nil }

// isPartial reports whether there is a partialInput.
func (lc *LoopConn) isPartial() bool { return lc.Entry.rare != nil && lc.Entry.rare.partial != nil }

// TLS returns nil if the connection is not one of TLS.
func (lc *LoopConn) TLS() *loopTLS {
	if lc.Entry.rare == nil {
		return nil
	}
	return lc.Entry.rare.tls
}

// partial returns nil if there is no partialInput.
func (lc *LoopConn) partial() *partialInput {
	if lc.Entry.rare == nil {
		return nil
	}
	return lc.Entry.rare.partial
}

func (lc *LoopConn) setPartial(p *partialInput) {
	lc.Entry.withRare().partial = p
	lc.Entry.dropRare()
}

func (lc *LoopConn) kick() { lc.Kick() }

// Visible returns the connection as the program sees it.
func (lc *LoopConn) Visible() net.Conn {
	if t := lc.TLS(); t != nil {
		return t.conn
	}
	return lc
}

// Begun returns when the connection began, and when its first bytes could arrive.
func (c *Conn) Begun() (began, ready time.Time) {
	lc := c.Loop.Conn
	switch {
	case lc == nil:
		return c.since, c.Ready
	case lc.IsTLS():
		return lc.since, c.Ready
	}
	return lc.since, lc.since
}

// Seat is where a connection sits while it serves a connection of a loop.
type Seat struct {
	Conn   *LoopConn
	Worker *poll.Worker
	Ended  time.Time // when the program returned off the loop, if that is known
	place  *atomic.Uint32
	what   uint32 // place's index
}

// fresh reports whether the connection, which is in its turn number turns, has had no turn since it was attached.
func (l *Seat) fresh(turns uint64) bool { return turns == l.Conn.Turns }

// StartWaiting has a new connection wait for its first turn.
func (c *Conn) StartWaiting() { c.Entry.become(phaseIdle) }

func (l *Seat) Leads() bool { return l.Conn != nil && l.Worker.Leads() }

// keptBuffer is how large a buffer may be that a worker keeps.
const keptBuffer = 16 << 10

// ParkedBy returns when lc expires if it is left to its loop now.
func (c *Conn) ParkedBy(w *poll.Worker, lc *LoopConn) poll.Moment {
	limit := c.Set.Idle
	from := w.Now()
	if c.Turns == 0 {
		_, ready := c.Begun()
		limit, from = clock.Shorter(limit, c.Set.First), ready
	}
	if c.Entry.is(phasePartial) {
		limit, from = c.Set.First, lc.partial().began
		if c.Set.Read > 0 {
			limit = clock.Shorter(limit, c.Set.Read)
		}
		if c.Turns == 0 {
			_, from = c.Begun()
		}
	}
	if limit > 0 {
		return poll.MomentOf(from).Add(limit)
	}
	return 0
}

// awaitBreak waits until the client is known to take nothing any more, and reports false if reading was to end before that.
func (c *Conn) awaitBreak() bool {
	var err error
	if lc := c.Loop.Conn; lc != nil {
		err = lc.AwaitBreak()
	} else {
		err = poll.AwaitBreak(socketBelow(c.NC))
	}
	return !clock.IsTimeout(err)
}

// watchOnLoop makes the loop start f when the client hangs up. It reports false if c is not on a loop, and if TLS may have more
// bytes than the socket.
func (c *Conn) watchOnLoop(f func()) bool {
	lc := c.Loop.Conn
	if lc == nil || lc.IsTLS() {
		return false
	}
	lc.Watch(f)
	return true
}

// LeaveLoop returns the connection as one that is no loop's any more.
func (c *Conn) LeaveLoop() (net.Conn, error) {
	if lc := c.Loop.Conn; lc != nil {
		nc, err := lc.Take()
		if err == nil {
			c.Entry.become(phaseTaken)
		}
		if t := lc.TLS(); t != nil && err == nil {
			t.taken, t.rare = nc, true
			nc = t.conn
		}
		return nc, err
	}
	c.Entry.become(phaseTaken)
	return c.NC, nil
}

// lingerOnLoop is setLinger for a connection of a loop.
func (c *Conn) lingerOnLoop(seconds int) {
	if c.Server.Loops.kernel != nil {
		return // a test's, whose descriptors are not the system's
	}
	linger := syscall.Linger{Linger: int32(seconds)}
	if seconds >= 0 {
		linger.Onoff = 1
	}
	if raw, err := c.Loop.Conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &linger)
		})
	}
}

// Attach takes lc, which w serves. c serves no connection, and its Seat is empty.
func (c *Conn) Attach(w *poll.Worker, lc *LoopConn) {
	c.NC, c.Entry = lc, &lc.Entry
	c.ID, c.Turns = lc.ID, lc.Turns
	c.lingers = false
	c.Now = w.Now()
	if !c.Input.Deadline.IsZero() {
		c.Input.Deadline = time.Time{}
	}
	if !c.Output.Deadline.IsZero() {
		c.Output.Deadline = time.Time{}
	}
	seat := &c.Loop
	seat.Conn, seat.Worker, c.Input.AllRead = lc, w, false
	if c.TLS != nil {
		c.TLS = nil
	}
	if lc.Entry.rare != nil {
		c.attachRare(w, lc)
	}
}

// attachRare is Attach for the rare parts of lc.
func (c *Conn) attachRare(w *poll.Worker, lc *LoopConn) {
	if t := lc.TLS(); t != nil {
		t.attach(c)
	}
	if part := lc.partial(); part != nil {
		c.Input.buf = append(bufpool.Grow(c.Input.buf[:0], len(part.bytes)+1), part.bytes...)
		c.Input.R, c.Input.HeadAt = 0, 0
		if w.HasAhead(&lc.Conn) {
			_ = c.takeAhead() // an error comes again, or is the end
		}
	}
}

// Expire has the connection end whose time is over.
func (c *Conn) Expire() {
	lc := c.Loop.Conn
	if part := lc.partial(); part != nil {
		part.stashed = maxStashes // has it wait, and fail
	} else {
		lc.Entry.move(phaseIdle, phaseEnding)
	}
}

// TakeUnsent takes back what the loop could not send.
func (c *Conn) TakeUnsent(rest []byte) {
	if c.Entry.is(phaseStarted) {
		c.Entry.become(phaseActive) // that turn is over
	}
	c.Output.AppendString(string(rest))
	c.Output.counted -= int64(len(rest)) // ParkLater has counted them
}

// Park leaves lc to its loop. It reports false if lc has something to read already, and has to be attached again. If it
// reports true and c serves only lc, then c may be serving lc again on another goroutine.
func (c *Conn) Park(w *poll.Worker, lc *LoopConn, by poll.Moment) bool {
	c.detach(w, lc)
	return lc.Park(by) // once it is parked, another worker may attach c
}

// Requeue leaves lc to its loop, which has it served again when others have had their turn. c may be serving lc again on another
// goroutine when Requeue returns.
func (c *Conn) Requeue(w *poll.Worker, lc *LoopConn) {
	c.detach(w, lc)
	lc.Requeue()
}

// detach ends a stay of lc.
func (c *Conn) detach(w *poll.Worker, lc *LoopConn) {
	c.emptyInput()
	if t := lc.TLS(); t != nil {
		t.out = nil
	}
	if !w.Leads() {
		c.Publish()
	}
	c.NC, c.TLS, c.Entry, c.Loop = nil, nil, nil, Seat{}
}

// emptyInput forgets the input, and keeps its buffer unless that is large.
func (c *Conn) emptyInput() {
	if c.Input.R, c.Input.HeadAt, c.Input.buf = 0, 0, c.Input.buf[:0]; cap(c.Input.buf) > keptBuffer {
		bufpool.Release(&c.Input.buf)
	}
}

// MayLeaveUnsent reports whether the connection may be left to its loop before the output was sent, as far as the connection
// itself is concerned.
func (c *Conn) MayLeaveUnsent() bool {
	o, seat := &c.Output, &c.Loop
	return len(o.Buf) > 0 && len(o.Buf) <= poll.MaxLater && o.Err == nil && o.ByHand.Load() == nil && !o.Cut.Load() &&
		c.Input.AllRead && !seat.Conn.IsTLS() && seat.Worker.MayLater() && !seat.Conn.Ended() &&
		c.Server.hooks.State == nil && !c.Server.Ending.Load()
}

// ParkLater leaves lc to its loop, which sends it what there is for it first.
func (c *Conn) ParkLater(w *poll.Worker, lc *LoopConn) {
	lc.Turns = c.Turns
	c.emptyInput()
	var by poll.Moment
	if limit := c.Set.Idle; limit > 0 {
		by = w.Moment().Add(limit)
	}
	c.Output.counted += int64(len(c.Output.Buf))
	w.Later(&lc.Conn, c.Output.Buf, by)
	c.Output.Buf = c.Output.Buf[:0]
	c.NC, c.Entry, c.Loop = nil, nil, Seat{}
}

// CloseOnLoop closes lc, which c has served. If LingerOnLoop was called, CloseOnLoop only prepares that, and the caller calls Serve of
// the result when it has no more use for lc.
func (c *Conn) CloseOnLoop(lc *LoopConn) *Lingering {
	if t := lc.TLS(); t != nil {
		if t.push != nil {
			lc.Entry.giveUp() // it can be idle, if a read has made crypto/tls write, and the write has failed
		}
		if !c.abrupt {
			t.close(c.lingers)
		}
	}
	lc.Entry.become(phaseClosing)
	if c.lingers {
		return c.startLingering(lc)
	}
	lc.Finish()
	c.Server.reportClosed(c.NC, lc.ID)
	return nil
}
