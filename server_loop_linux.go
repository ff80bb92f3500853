package gallop

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/poll"
)

// loopGroup is the loops of a server, while there is a listener or a connection.
type loopGroup struct {
	mu     sync.Mutex
	g      *poll.Group
	kernel poll.Kernel // nil but in tests, like n
	n      int         // how many loops; 0: as many as there are processors, also later
	before poll.Stats  // of groups that have ended
	pooled atomic.Uint64
	vacant sync.Pool // of *serverConn, with what they have for the next connection
}

// enter returns the loops, and keeps them running until Leave is called.
func (lg *loopGroup) enter(s *Server) (*poll.Group, error) {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	if lg.g != nil {
		if lg.g.Enter() {
			return lg.g, nil
		}
		lg.before = lg.stats()
	}
	g, err := poll.NewGroup(loopServer{s}, lg.n, lg.kernel, s.workers.idle)
	lg.g = g
	return g, err
}

// loopStats returns what the event loops have done so far.
func (s *Server) loopStats() LoopStats {
	lg := &s.loops
	lg.mu.Lock()
	defer lg.mu.Unlock()
	of := lg.stats()
	stats := LoopStats{Inline: of.Counted, Pooled: lg.pooled.Load(), Overtaken: of.Overtaken}
	stats.FastPlaces, stats.UsedPlaces = s.branch.count()
	return stats
}

// stats returns the counts of all groups so far. lg is locked.
func (lg *loopGroup) stats() poll.Stats {
	stats := lg.before
	if lg.g != nil {
		now := lg.g.Stats()
		stats.Counted += now.Counted
		stats.Overtaken += now.Overtaken
	}
	return stats
}

// loopConn is a connection between two stays with a serverConn: all there is of one that
// is idle.
type loopConn struct {
	poll.Conn
	entry    tableEntry
	tls      *loopTLS // nil without TLS
	id       uint64
	requests uint64
	since    time.Time

	partial *partialHead // nil if there is none
}

// partialHead is a head that has not come to its end.
type partialHead struct {
	octets  []byte
	began   time.Time
	stashed uint8 // how often it was put aside
}

func (lc *loopConn) kick() { lc.Kick() }

// conn returns the connection as handlers see it.
func (lc *loopConn) conn() net.Conn {
	if lc.tls != nil {
		return lc.tls.conn
	}
	return lc
}

// begun returns when the connection began, and when it could bring its first request.
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

// loopSeat is where a serverConn sits while it serves a connection of a loop.
type loopSeat struct {
	conn    *loopConn
	worker  *poll.Worker
	drained bool      // nothing is to be read until the loop says so
	resumed bool      // the connection comes from the loop just now
	partial bool      // and has brought a part of a head
	looked  bool      // the clock was looked at when it came
	ended   time.Time // when a handler off the loop returned, if that is known
	started bool      // the first bytes of a request were read before it began to serve
	pending bool      // a request waits for its handler
	moved   bool      // and did so until a worker off the loops had time
	place   *atomic.Uint32
	what    uint32 // place's index
}

var _ [poll.Whats]struct{} = [predictPlaces]struct{}{} // places have numbers that Count takes

func (l *loopSeat) leads() bool { return l.conn != nil && l.worker.Leads() }

// loopServer is a server as its loops see it.
type loopServer struct{ s *Server }

// Accept implements poll.Handler.
func (h loopServer) Accept(w *poll.Worker, pl *poll.Listener, fd int, peer netip.AddrPort) *poll.Conn {
	s := h.s
	lc := &loopConn{id: s.connIDs.Add(1), since: w.Now()}
	lc.Data = lc
	lc.Init(fd, peer)
	lc.entry.nc = lc
	by := poll.MomentOf(lc.since).Add(shorter(s.set.idle, s.set.readHead))
	if shorter(s.set.idle, s.set.readHead) == 0 {
		by = 0
	}
	of := pl.Data.(*servedListener)
	secure, isTLS := of.Listener.(*tlsListener)
	lc.entry.context = s.newConnContext(of)
	lc.Ahead = !isTLS
	if err := w.Group().Add(w, &lc.Conn, by); err != nil {
		s.log.printf("a connection is lost: %v", err)
		return nil
	}
	if isTLS {
		lc.tls = newLoopTLS(lc, secure.config)
	}
	if err := s.admit(); err != nil {
		s.turnAwayFromLoop(lc, StatusServiceUnavailable, err)
		pl.Pause(s.SleepWhenConcurrencyLimitsExceeded)
		return nil
	}
	if err := s.conns.add(&lc.entry); err != nil {
		if err == ErrPerIPConnLimit {
			s.turnAwayFromLoop(lc, StatusTooManyRequests, err)
		}
		lc.Finish()
		s.conns.leave()
		return nil
	}
	return &lc.Conn
}

// turnAwayFromLoop is turnAway for a connection that a loop has accepted.
func (s *Server) turnAwayFromLoop(lc *loopConn, status int, reason error) {
	defer lc.Finish()
	if lc.tls != nil {
		s.turnAway(lc.conn(), status, reason, true)
	} else if nc, err := lc.Take(); err == nil {
		s.turnAway(nc, status, reason, true)
	}
}

// Begin implements poll.Handler.
func (h loopServer) Begin(w *poll.Worker, pc *poll.Conn) {
	s, lc := h.s, pc.Data.(*loopConn)
	switch {
	case lc.tls != nil:
		lc.HandOver() // a handshake takes long
	case w.Leads():
		s.serveNew(w, lc)
	default: // there may be others to accept, who need not wait for this one
		w.Group().Hand(func(w *poll.Worker) { s.serveNew(w, lc) })
	}
}

// serveNew serves a connection that was accepted just now.
func (s *Server) serveNew(w *poll.Worker, lc *loopConn) {
	c := s.seat(w)
	c.board(w, lc)
	c.loop.resumed = false
	s.ride(w, c, true)
}

// Serve implements poll.Handler.
func (h loopServer) Serve(w *poll.Worker, pc *poll.Conn) {
	c, lc := h.s.seat(w), pc.Data.(*loopConn)
	c.board(w, lc)
	if lc.partial == nil {
		if p, more, ok := w.TakeBytes(pc); ok {
			c.startWith(p, more)
		}
	}
	h.s.ride(w, c, lc.tls != nil && !lc.tls.shaken)
}

// startWith begins a request with what the loop has read, as waitOnLoop would.
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

// Expire implements poll.Handler.
func (h loopServer) Expire(w *poll.Worker, pc *poll.Conn) {
	lc := pc.Data.(*loopConn)
	c := h.s.seat(w)
	c.board(w, lc)
	if lc.partial != nil {
		lc.partial.stashed = maxStashes // has it wait, and fail
	} else {
		lc.entry.state.CompareAndSwap(phaseIdle, phaseEnding)
	}
	h.s.ride(w, c, false)
}

// Sent implements poll.Handler.
func (h loopServer) Sent(pc *poll.Conn) bool {
	pc.Data.(*loopConn).entry.state.CompareAndSwap(phaseActive, phaseIdle)
	return !h.s.ending.Load() && !h.s.keepAlives.off.Load() // or Shutdown or SetKeepAlivesEnabled finds it idle
}

// Unsent implements poll.Handler.
func (h loopServer) Unsent(w *poll.Worker, pc *poll.Conn, rest []byte) {
	c, lc := h.s.seat(w), pc.Data.(*loopConn)
	c.board(w, lc)
	c.loop.resumed = false
	c.output.limitTo(c.set.write)
	c.output.appendString(string(rest))
	c.output.counted -= int64(len(rest)) // parkLater has counted them
	h.s.ride(w, c, false)
}

// Run implements poll.Handler.
func (h loopServer) Run(w *poll.Worker, data any) {
	switch data := data.(type) {
	case *serverConn:
		h.s.vacate(w)
		w.Local = data
		data.loop.worker, data.loop.moved = w, true
		h.s.ride(w, data, false)
		h.s.vacate(w)
	case func(*poll.Worker):
		data(w)
	}
}

// Rest implements poll.Handler.
func (h loopServer) Rest(w *poll.Worker) {
	if c, ok := w.Local.(*serverConn); ok {
		c.publish()
	}
}

// Overdue implements poll.Handler.
func (h loopServer) Overdue(what uint32) {
	if place := &h.s.branch.places[what]; h.s.Dispatch == DispatchAuto && isFast(place.Load()) {
		mispredicted(place)
	}
}

// Failed implements poll.Handler.
func (h loopServer) Failed(pl *poll.Listener, pause time.Duration, err error) {
	h.s.log.accepting(pl.Data.(*servedListener), pause, err)
}

// seat returns the serverConn that w has.
func (s *Server) seat(w *poll.Worker) *serverConn {
	if c, ok := w.Local.(*serverConn); ok {
		return c
	}
	if c, ok := s.loops.vacant.Get().(*serverConn); ok {
		w.Local = c
		return c
	}
	c := s.acquireConn()
	c.srv, c.set = s, &s.set
	c.input.init(c)
	c.output.c = c
	w.Local = c
	return c
}

// vacate leaves the serverConn that w has, if it has one, to a leader: those give theirs
// away with the requests that they do not answer themselves.
func (s *Server) vacate(w *poll.Worker) {
	if c, ok := w.Local.(*serverConn); ok {
		w.Local = nil
		s.loops.vacant.Put(c)
	}
}

// board takes lc, which w serves. c serves none, and its loopSeat is empty.
func (c *serverConn) board(w *poll.Worker, lc *loopConn) {
	c.nc, c.entry = lc, &lc.entry
	c.id, c.requests = lc.id, lc.requests
	c.now = w.Now()
	c.close = false
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
		lc.tls.board(c)
	}
	if head := lc.partial; head != nil {
		c.input.buf = append(bufpool.Grow(c.input.buf[:0], len(head.octets)+1), head.octets...)
		c.input.r, c.input.headAt = 0, 0
		c.loop.partial = true
		if w.HasAhead(&lc.Conn) {
			_ = c.takeAhead() // an error comes again, or is the end
		}
	}
}

// takeAhead takes what the loop has read from the connection, as tryRead would.
func (c *serverConn) takeAhead() next {
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

// ride serves the connection that c has boarded until it goes back to its loop, is moved
// to another worker, or ends.
func (s *Server) ride(w *poll.Worker, c *serverConn, isNew bool) {
	lc, settled := c.loop.conn, false
	defer func() {
		if settled {
			return
		}
		if v := recover(); v != nil { // in a hook: handlers are looked after
			s.log.panicked(lc.RemoteAddr(), lc.id, "panic ends a connection", v)
		}
		s.alight(w, c, lc, false, c.hijacked)
	}()
	if isNew {
		c.report(StateNew)
		if lc.tls != nil {
			if over, err := c.handshakeOffLoop(); over {
				settled = true
				if err != nil {
					s.log.connection(lc.RemoteAddr(), lc.id, err, s.LogAllErrors)
				}
				s.alight(w, c, lc, true, false)
				return
			}
		}
		lc.entry.state.Store(phaseIdle)
		c.loop.resumed = true
	}
	for {
		switch c.serve() {
		case nextPark:
			if c, settled = c.park(w, lc); settled {
				return
			}
		case nextLater:
			settled = true
			c.parkLater(w, lc)
			return
		case nextMove:
			c.publish()
			w.Local, settled = nil, true
			w.Group().Hand(c)
			return
		case nextHijacked:
			settled = true
			s.alight(w, c, lc, false, true)
			if c.handed != nil {
				c.startHijack(c.handed)
			}
			return
		default:
			settled = true
			s.logEnd(lc, lc.id, c.err)
			s.alight(w, c, lc, true, false)
			return
		}
	}
}

// keptBuffer is how large a buffer may be that a worker keeps.
const keptBuffer = 16 << 10

// park leaves lc to its loop, unless it has something to read already: then it returns
// who goes on to serve it.
func (c *serverConn) park(w *poll.Worker, lc *loopConn) (_ *serverConn, parked bool) {
	by := c.parkedBy(w, lc)
	lc.requests = c.requests
	if c.shared {
		// The program may have kept a reference to c, so c must not serve another connection.
		w.Local = nil
		c.release()
		next := c.srv.seat(w)
		next.board(w, lc)
		c = next
	}
	if c.input.r, c.input.headAt, c.input.buf = 0, 0, c.input.buf[:0]; cap(c.input.buf) > keptBuffer {
		putBuffer(&c.input.buf)
	}
	if lc.tls != nil {
		lc.tls.out = nil
	}
	if !w.Leads() {
		c.publish()
	}
	if lc.Park(by) {
		c.nc, c.tls, c.entry, c.loop = nil, nil, nil, loopSeat{}
		return c, true
	}
	c.loop = loopSeat{}
	c.board(w, lc)
	return c, false
}

// mayParkLater reports whether lc may be left to its loop before it was sent what there
// is for it: if it is sure that there is nothing left to do.
func (c *serverConn) mayParkLater() bool {
	o, seat := &c.output, &c.loop
	return len(o.buf) > 0 && len(o.buf) <= poll.MaxLater && o.err == nil && o.byHand.Load() == nil && !o.cut.Load() &&
		seat.drained && !seat.resumed && seat.conn.tls == nil && seat.worker.MayLater() && !seat.conn.Ended() &&
		!c.shared && c.srv.ConnState == nil && !c.srv.ending.Load() && c.exchange != nil && c.writeLimit == c.set.write
}

// parkLater leaves lc to its loop, which sends it what there is for it first.
func (c *serverConn) parkLater(w *poll.Worker, lc *loopConn) {
	lc.requests = c.requests
	if c.input.r, c.input.headAt, c.input.buf = 0, 0, c.input.buf[:0]; cap(c.input.buf) > keptBuffer {
		putBuffer(&c.input.buf)
	}
	var by poll.Moment
	if limit := c.set.idle; limit > 0 {
		by = w.Moment().Add(limit)
	}
	c.output.counted += int64(len(c.output.buf))
	w.Later(&lc.Conn, c.output.buf, by)
	c.output.buf = c.output.buf[:0]
	c.nc, c.entry, c.loop = nil, nil, loopSeat{}
}

// parkedBy returns when lc expires if it is left to its loop now.
func (c *serverConn) parkedBy(w *poll.Worker, lc *loopConn) poll.Moment {
	limit := c.set.idle
	from := w.Now()
	if c.requests == 0 {
		_, ready := c.begun()
		limit, from = shorter(limit, c.set.readHead), ready
	}
	if c.loop.partial {
		limit, from = c.set.readHead, lc.partial.began
		if c.set.read > 0 {
			limit = shorter(limit, c.set.read)
		}
		if c.requests == 0 {
			_, from = c.begun()
		}
	}
	if limit > 0 {
		return poll.MomentOf(from).Add(limit)
	}
	return 0
}

// alight ends the connection lc.
func (s *Server) alight(w *poll.Worker, c *serverConn, lc *loopConn, ended, hijacked bool) {
	w.Local = nil
	defer s.conns.drop(&lc.entry) // nothing is left when Shutdown sees it gone
	defer func() {
		if !hijacked {
			if lc.tls != nil && !c.unframed {
				lc.tls.close()
			}
			lc.Finish()
			c.guard("ConnState", func() { c.report(StateClosed) })
		}
		if ended && !c.shared {
			*c = serverConn{}
			s.retired.Put(c)
		}
	}()
	c.release()
}

// waitOnLoop reads the first bytes of a request. If none have arrived, it returns nextPark.
func (c *serverConn) waitOnLoop() next {
	if err := c.output.flush(); err != nil {
		return c.endedBy(err)
	}
	state := &c.entry.state
	if !c.loop.resumed {
		c.report(StateIdle)
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
	return c.beganRequest(err)
}

// tryRead appends the bytes that have arrived to the input. If none have arrived, it returns nextPark.
func (c *serverConn) tryRead() next {
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

// maxStashes is how often an unfinished head is put aside, to be looked at from its
// beginning when more has come. One in more pieces is waited for.
const maxStashes = 8

// resumeHead has a head that came in parts have begun with the first of them.
func (c *serverConn) resumeHead() {
	if c.loop.partial {
		c.loop.partial, c.loop.resumed, c.queued = false, false, false
		c.began = c.loop.conn.partial.began
	}
}

// moreOfHead reads more of a head that is not finished, or puts the head aside until more bytes arrive. If more is
// false and n is nextStep, the caller has to wait for more bytes.
func (c *serverConn) moreOfHead() (more bool, n next) {
	lc := c.loop.conn
	var stashed uint8
	if lc.partial != nil {
		stashed = lc.partial.stashed
	}
	if stashed >= maxStashes {
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
	c.startClock()
	lc.partial = &partialHead{bytes.Clone(c.input.unread()), c.began, stashed + 1}
	c.loop.partial = true
	c.ctx.Request.Header.Reset()
	return false, nextPark
}

// mayRunHere reports whether the handler for the request may be called by the worker: on
// the loop, or, if it does not lead, off it. If not on the loop, the next request on the
// connection is read off it too, in the hope that it is for the same handler: that is
// cheaper than to pass it on.
func (c *serverConn) mayRunHere() bool {
	lc := c.loop.conn
	if lc.partial != nil {
		lc.partial = nil
	}
	switch c.srv.Dispatch {
	case DispatchInline:
		return true
	case DispatchGoroutine:
		lc.Away = true
	default:
		what := placeIndex(&c.ctx.Request.Header.head)
		place := &c.srv.branch.places[what]
		c.loop.place, c.loop.what = place, what
		lc.Away = !isFast(place.Load())
	}
	return !lc.Away || !c.loop.worker.Leads()
}

// handleOnLoop calls the handler, and remembers how long it took.
func (c *serverConn) handleOnLoop() {
	seat := &c.loop
	if !seat.worker.Leads() {
		c.srv.loops.pooled.Add(1)
		start := c.now // not much before: clocks are dear
		if c.queued || seat.moved {
			start, seat.moved = time.Now(), false
		}
		c.srv.Handler(&c.ctx)
		seat.ended = start.Add(time.Since(start))
		if seat.place != nil && seat.conn.Away {
			ran(seat.place, seat.ended.Sub(start))
		}
		return
	}
	timed := isSample(seat.worker.Count(seat.what))
	var start poll.Moment
	if timed {
		start = poll.Now()
	}
	c.srv.Handler(&c.ctx)
	if !seat.worker.Leads() {
		if told := seat.worker.Done(); !told && seat.place != nil {
			mispredicted(seat.place)
		}
	} else if timed {
		took := time.Duration(poll.Now() - start)
		seat.worker.Pace(took)
		if seat.place != nil {
			ran(seat.place, took)
		}
	}
}

// writeOnLoop writes what was gathered and then p, at once as far as that goes.
func (o *output) writeOnLoop(p []byte) error {
	if !o.limit.IsZero() && !o.hasDeadline() && !time.Now().Before(o.limit) {
		return os.ErrDeadlineExceeded // which a write that does not wait would not notice
	}
	if o.c.tls != nil {
		if err := o.writeAll(o.buf); err != nil || len(p) == 0 {
			return err
		}
		return o.writeAll(p)
	}
	lc, head := o.c.loop.conn, o.buf
	var n int
	var err error
	if o.byHand.Load() != nil || o.cut.Load() {
		// A write that does not wait knows no deadline.
	} else if len(p) == 0 {
		n, err = lc.TryWrite(head)
	} else {
		n, err = lc.TryWriteBoth(head, p, o.more)
	}
	o.count(int64(n))
	if err != nil {
		return err
	}
	if n < len(head) {
		if err := o.writeAll(head[n:]); err != nil {
			return err
		}
		n = len(head)
	}
	if n -= len(head); n < len(p) {
		return o.writeAll(p[n:])
	}
	return nil
}

// awaitBreak waits until the client is known to take nothing any more, and reports false if reading was to end before that.
func (c *connection) awaitBreak() bool {
	var err error
	if lc := c.loop.conn; lc != nil {
		err = lc.AwaitBreak()
	} else {
		err = poll.AwaitBreak(socketBelow(c.nc))
	}
	return !isTimeout(err)
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
	if c.srv.loops.kernel != nil {
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
