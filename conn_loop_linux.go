package gallop

import (
	"bytes"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/clock"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/poll"
)

// loopConn is a connection of a loop between two stays with a connection that serves it: all there is of one that is idle.
type loopConn struct {
	poll.Conn
	entry tableEntry
	tls   *loopTLS // nil without TLS
	id    uint64
	turns uint64
	since time.Time

	partial *partialInput // nil if there is none
}

// partialInput is what has arrived of something that the wire can only serve when it is complete.
type partialInput struct {
	bytes   []byte
	began   time.Time
	stashed uint8 // how often it was put aside
}

func (lc *loopConn) kick() { lc.Kick() }

// conn returns the connection as the program sees it.
func (lc *loopConn) conn() net.Conn {
	if lc.tls != nil {
		return lc.tls.conn
	}
	return lc
}

// begun returns when the connection began, and when its first bytes could arrive.
func (c *connection) begun() (began, ready time.Time) {
	lc := c.loop.conn
	switch {
	case lc == nil:
		return c.since, c.ready
	case lc.tls != nil:
		return lc.since, c.ready
	}
	return lc.since, lc.since
}

// loopSeat is where a connection sits while it serves a connection of a loop.
type loopSeat struct {
	conn    *loopConn
	worker  *poll.Worker
	drained bool      // nothing is to be read until the loop says so
	resumed bool      // the connection comes from the loop just now
	partial bool      // and has brought a partialInput
	looked  bool      // the clock was looked at when it came
	ended   time.Time // when the program returned off the loop, if that is known
	started bool      // the first bytes of a turn were read before it began to serve
	pending bool      // a turn waits for the program to be called
	moved   bool      // and did so until a worker off the loops had time
	place   *atomic.Uint32
	what    uint32 // place's index
}

func (l *loopSeat) leads() bool { return l.conn != nil && l.worker.Leads() }

// startWith begins a turn with what the loop has read, as waitOnLoop would.
func (c *connection) startWith(p []byte, more bool) {
	c.loop.drained, c.loop.looked, c.loop.resumed, c.loop.started = !more, false, false, true
	in := &c.input
	in.counted += int64(len(p))
	if len(p) <= cap(in.buf) {
		in.buf = append(in.buf[:0], p...)
	} else {
		in.buf = append(bufpool.Grow(in.buf[:0], max(len(p), c.set.readBuf)), p...)
	}
	if !c.entry.begin() {
		c.outrun()
	}
}

// takeAhead takes what the loop has read from the connection, as tryRead would.
func (c *connection) takeAhead() next {
	p, more, err := c.loop.worker.TakeAhead()
	c.loop.drained, c.loop.looked = !more, false
	if err == nil {
		in := &c.input
		in.makeRoom()
		in.buf = append(bufpool.Grow(in.buf, len(p)+1), p...)
		in.counted += int64(len(p))
	} else if err == syscall.EAGAIN {
		return nextPark
	}
	return c.endedBy(err)
}

// keptBuffer is how large a buffer may be that a worker keeps.
const keptBuffer = 16 << 10

// parkedBy returns when lc expires if it is left to its loop now.
func (c *connection) parkedBy(w *poll.Worker, lc *loopConn) poll.Moment {
	limit := c.set.idle
	from := w.Now()
	if c.turns == 0 {
		_, ready := c.begun()
		limit, from = clock.Shorter(limit, c.set.first), ready
	}
	if c.loop.partial {
		limit, from = c.set.first, lc.partial.began
		if c.set.read > 0 {
			limit = clock.Shorter(limit, c.set.read)
		}
		if c.turns == 0 {
			_, from = c.begun()
		}
	}
	if limit > 0 {
		return poll.MomentOf(from).Add(limit)
	}
	return 0
}

// waitOnLoop reads the first bytes of a turn. If none have arrived, it returns nextPark.
func (c *connection) waitOnLoop() next {
	if err := c.output.flush(); err != nil {
		return c.endedBy(err)
	}
	state := &c.entry.state
	if !c.loop.resumed {
		c.report(connIdle)
		if !state.CompareAndSwap(phaseActive, phaseIdle) {
			return c.endedBy(errIdle)
		}
	}
	n := nextStep
	if c.loop.worker.HasAhead(&c.loop.conn.Conn) {
		n = c.takeAhead()
	} else {
		n = c.tryRead()
	}
	var err error
	switch phase := state.Load(); {
	case n == nextStep:
	case n == nextEnded:
		err = c.err
	case phase == phaseEnding:
		err = errIdle
	case phase == phaseIdle && c.mayNotIdle():
		err = c.input.lastChance()
	default:
		return n
	}
	c.loop.resumed = false
	return c.beganTurn(err)
}

// tryRead appends the bytes that have arrived to the input. If none have arrived, it returns nextPark.
func (c *connection) tryRead() next {
	lc := c.loop.conn
	if c.loop.drained && !lc.Ended() {
		return nextPark
	}
	in := &c.input
	if in.empty() {
		in.r, in.headAt, in.buf = 0, 0, in.buf[:0]
	}
	in.makeRoom()
	free := in.buf[len(in.buf):cap(in.buf)]
	var n int
	var err error
	if lc.tls != nil {
		n, err = lc.tls.tryRead(free)
	} else {
		n, err = lc.TryRead(free)
		c.loop.drained = n < len(free)
	}
	if err == syscall.EAGAIN {
		c.loop.drained = true
		return nextPark
	}
	if err != nil {
		return c.endedBy(err)
	}
	if !c.loop.looked {
		c.now = c.loop.worker.Now()
	}
	c.loop.looked = false
	in.count(n)
	in.buf = in.buf[:len(in.buf)+n]
	return nextStep
}

// maxStashes is how often a partialInput is put aside, to be looked at from its beginning when more has come. One in more
// pieces is waited for.
const maxStashes = 8

// awaitBreak waits until the client is known to take nothing any more, and reports false if reading was to end before that.
func (c *connection) awaitBreak() bool {
	var err error
	if lc := c.loop.conn; lc != nil {
		err = lc.AwaitBreak()
	} else {
		err = poll.AwaitBreak(socketBelow(c.nc))
	}
	return !clock.IsTimeout(err)
}

// leaveLoop returns the connection as one that is no loop's any more.
func (c *connection) leaveLoop() (net.Conn, error) {
	if lc := c.loop.conn; lc != nil {
		nc, err := lc.Take()
		if lc.tls != nil && err == nil {
			lc.tls.taken = nc
			nc = lc.tls.conn
		}
		return nc, err
	}
	return c.nc, nil
}

// lingerOnLoop is setLinger for a connection of a loop.
func (c *connection) lingerOnLoop(seconds int) {
	if c.hub.loops.kernel != nil {
		return // a test's, whose descriptors are not the system's
	}
	linger := syscall.Linger{Linger: int32(seconds)}
	if seconds >= 0 {
		linger.Onoff = 1
	}
	if raw, err := c.loop.conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &linger)
		})
	}
}

// attach takes lc, which w serves. c serves no connection, and its loopSeat is empty.
func (c *connection) attach(w *poll.Worker, lc *loopConn) {
	c.nc, c.entry = lc, &lc.entry
	c.id, c.turns = lc.id, lc.turns
	c.now = w.Now()
	if !c.input.deadline.IsZero() {
		c.input.deadline = time.Time{}
	}
	if !c.output.deadline.IsZero() {
		c.output.deadline = time.Time{}
	}
	seat := &c.loop
	seat.conn, seat.worker, seat.resumed, seat.looked = lc, w, true, true
	if c.tls != nil {
		c.tls = nil
	}
	if lc.tls != nil {
		lc.tls.attach(c)
	}
	if part := lc.partial; part != nil {
		c.input.buf = append(bufpool.Grow(c.input.buf[:0], len(part.bytes)+1), part.bytes...)
		c.input.r, c.input.headAt = 0, 0
		c.loop.partial = true
		if w.HasAhead(&lc.Conn) {
			_ = c.takeAhead() // an error comes again, or is the end
		}
	}
}

// startAhead begins a turn with what the loop has read from the connection, if it has.
func (c *connection) startAhead(w *poll.Worker, pc *poll.Conn) {
	if c.loop.conn.partial == nil {
		if p, more, ok := w.TakeBytes(pc); ok {
			c.startWith(p, more)
		}
	}
}

// expire has the connection end whose time is over.
func (c *connection) expire() {
	if lc := c.loop.conn; lc.partial != nil {
		lc.partial.stashed = maxStashes // has it wait, and fail
	} else {
		lc.entry.state.CompareAndSwap(phaseIdle, phaseEnding)
	}
}

// takeUnsent takes back what the loop could not send.
func (c *connection) takeUnsent(rest []byte) {
	c.loop.resumed = false
	c.output.appendString(string(rest))
	c.output.counted -= int64(len(rest)) // parkLater has counted them
}

// park leaves lc to its loop. It reports false if lc has something to read already, and has to be attached again.
func (c *connection) park(w *poll.Worker, lc *loopConn, by poll.Moment) bool {
	c.emptyInput()
	if lc.tls != nil {
		lc.tls.out = nil
	}
	if !w.Leads() {
		c.publish()
	}
	parked := lc.Park(by)
	if parked {
		c.nc, c.tls, c.entry = nil, nil, nil
	}
	c.loop = loopSeat{}
	return parked
}

// emptyInput forgets the input, and keeps its buffer unless that is large.
func (c *connection) emptyInput() {
	if c.input.r, c.input.headAt, c.input.buf = 0, 0, c.input.buf[:0]; cap(c.input.buf) > keptBuffer {
		bufpool.Release(&c.input.buf)
	}
}

// mayLeaveUnsent reports whether the connection may be left to its loop before the output was sent, as far as the connection
// itself is concerned.
func (c *connection) mayLeaveUnsent() bool {
	o, seat := &c.output, &c.loop
	return len(o.buf) > 0 && len(o.buf) <= poll.MaxLater && o.err == nil && o.byHand.Load() == nil && !o.cut.Load() &&
		seat.drained && !seat.resumed && seat.conn.tls == nil && seat.worker.MayLater() && !seat.conn.Ended() &&
		c.hub.hooks.state == nil && !c.hub.ending.Load()
}

// parkLater leaves lc to its loop, which sends it what there is for it first.
func (c *connection) parkLater(w *poll.Worker, lc *loopConn) {
	lc.turns = c.turns
	c.emptyInput()
	var by poll.Moment
	if limit := c.set.idle; limit > 0 {
		by = w.Moment().Add(limit)
	}
	c.output.counted += int64(len(c.output.buf))
	w.Later(&lc.Conn, c.output.buf, by)
	c.output.buf = c.output.buf[:0]
	c.nc, c.entry, c.loop = nil, nil, loopSeat{}
}

// closeOnLoop closes lc, which c has served.
func (c *connection) closeOnLoop(lc *loopConn) {
	if lc.tls != nil && !c.abrupt {
		lc.tls.close()
	}
	lc.Finish()
	c.guard("ConnState", func() { c.report(connClosed) })
}

// resumePartial goes on with a partialInput, and returns when that began to arrive.
func (c *connection) resumePartial() (began time.Time) {
	c.loop.partial, c.loop.resumed, c.queued = false, false, false
	return c.loop.conn.partial.began
}

// moreInput reads more of what the wire needs completely. If there is no more, and n is nextPark, then the wire calls
// putAside. If there is no more, and n is nextStep, it waits.
func (c *connection) moreInput() (more bool, n next) {
	lc := c.loop.conn
	if lc.partial != nil && lc.partial.stashed >= maxStashes {
		return false, nextStep
	}
	if err := c.output.flush(); err != nil {
		return false, c.endedBy(err)
	}
	switch c.tryRead() {
	case nextStep:
		return true, nextStep
	case nextEnded: // the read that waits returns the same error
		return false, nextStep
	}
	return false, nextPark
}

// putAside keeps what has arrived since began until there is more.
func (c *connection) putAside(began time.Time) {
	lc, stashed := c.loop.conn, uint8(1)
	if lc.partial != nil {
		stashed += lc.partial.stashed
	}
	lc.partial = &partialInput{bytes.Clone(c.input.unread()), began, stashed}
	c.loop.partial = true
}

// dropPartial is called when the wire has all that it waited for.
func (c *connection) dropPartial() {
	if lc := c.loop.conn; lc.partial != nil {
		lc.partial = nil
	}
}

// mayRunAt reports whether the program may be called by the worker, for the place with this index: on the loop, or, if the
// worker does not lead, off it. If not on the loop, the next turn of the connection is read off it too, in the hope that it
// is for the same place: that is cheaper than to pass it on.
func (c *connection) mayRunAt(what uint32) bool {
	place := &c.hub.places.places[what]
	c.loop.place, c.loop.what = place, what
	c.loop.conn.Away = !isFast(place.Load())
	return !c.loop.conn.Away || !c.loop.worker.Leads()
}

// runAway has the program called off the loop. It reports whether the worker may do so.
func (c *connection) runAway() bool {
	c.loop.conn.Away = true
	return !c.loop.worker.Leads()
}

// startOffLoop is called before the program is called off the loop. It returns when that was, or a bit earlier.
func (c *connection) startOffLoop() time.Time {
	c.hub.loops.pooled.Add(1)
	start := c.now // not much before: clocks are dear
	if c.queued || c.loop.moved {
		start, c.loop.moved = time.Now(), false
	}
	return start
}

// endOffLoop is called when the program has returned.
func (c *connection) endOffLoop(start time.Time) {
	seat := &c.loop
	seat.ended = start.Add(time.Since(start))
	if seat.place != nil && seat.conn.Away {
		ran(seat.place, seat.ended.Sub(start))
	}
}

// startOnLoop is called before the program is called on the loop. It returns when that was, if it is to be timed.
func (l *loopSeat) startOnLoop() (start poll.Moment, timed bool) {
	if timed = isSample(l.worker.Count(l.what)); timed {
		start = poll.Now()
	}
	return start, timed
}

// endOnLoop is called when the program has returned that was called on the loop.
func (l *loopSeat) endOnLoop(start poll.Moment, timed bool) {
	if !l.worker.Leads() {
		if told := l.worker.Done(); !told && l.place != nil {
			mispredicted(l.place)
		}
	} else if timed {
		took := time.Duration(poll.Now() - start)
		l.worker.Pace(took)
		if l.place != nil {
			ran(l.place, took)
		}
	}
}
