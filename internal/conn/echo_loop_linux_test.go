package conn_test

import (
	"context"
	"net/netip"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/poll"
)

// echoLoops serves the echo protocol on event loops. Unlike HTTP/1, which has a Conn for each worker, it has one for each
// connection: poll.Conn.Data is the echoWire.
//
// Handlers that are taken for fast run on the loop, but not before the connection is parked. If a handler does not come back,
// the next leader of the loop therefore serves the connection on.
type echoLoops struct {
	conn.Loops
	s *echoServer
}

func (s *echoServer) handler() conn.Handler { return echoLoops{conn.Loops{Server: &s.Server}, s} }

// onLoop is what an echoWire has besides if it belongs to a loop.
type onLoop struct {
	*conn.LoopConn
	pusher conn.Pusher
	took   int64       // progress when it was parked
	unhook func() bool // ends the wait for the server to stop
}

// Accept implements poll.Handler.
func (h echoLoops) Accept(w *poll.Worker, pl *poll.Listener, fd int, peer netip.AddrPort) *poll.Conn {
	pc := h.Loops.Accept(w, pl, fd, peer)
	if pc != nil {
		c := h.s.newWire()
		c.Prepare(&h.s.Server, c)
		c.loop = onLoop{LoopConn: pc.Data.(*conn.LoopConn)}
		c.kick = pc.Kick
		pc.Data = c
	}
	return pc
}

// Begin implements poll.Handler.
func (h echoLoops) Begin(w *poll.Worker, pc *poll.Conn) {
	switch c := pc.Data.(*echoWire); {
	case c.loop.IsTLS():
		c.loop.HandOver()
	case w.Leads():
		h.begin(w, c)
	default:
		w.Group().Hand(func(w *poll.Worker) { h.begin(w, c) })
	}
}

func (h echoLoops) begin(w *poll.Worker, c *echoWire) {
	c.Attach(w, c.loop.LoopConn)
	c.Report(conn.StateNew)
	c.loop.unhook = context.AfterFunc(h.s.Stopped, c.stopping)
	if c.loop.IsTLS() {
		if _, err := c.Handshake(); err != nil {
			h.end(c)
			return
		}
		c.Shaken()
	}
	c.startPushing()
	c.StartWaiting()
	h.run(w, c)
}

func (c *echoWire) startPushing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loop.pusher = c.StartPushing()
	c.push, c.below = c.loop.pusher.Push, c.loop.pusher.Unsent
}

// Serve implements poll.Handler.
func (h echoLoops) Serve(w *poll.Worker, pc *poll.Conn) {
	c := pc.Data.(*echoWire)
	if c.loop.IsTLS() && !c.loop.TLS().Shaken {
		h.begin(w, c)
		return
	}
	c.Attach(w, c.loop.LoopConn)
	c.StartAhead(w, pc)
	h.run(w, c)
}

// Expire implements poll.Handler.
func (h echoLoops) Expire(w *poll.Worker, pc *poll.Conn) {
	c := pc.Data.(*echoWire)
	c.Attach(w, c.loop.LoopConn)
	if busy, _ := c.look(); !busy {
		c.Conn.Expire()
	} else if c.isStuck() {
		h.end(c)
		return
	}
	h.run(w, c)
}

// Run implements poll.Handler.
func (h echoLoops) Run(w *poll.Worker, data any) {
	switch data := data.(type) {
	case *exchange:
		h.call(w, data)
	case func(*poll.Worker):
		data(w)
	}
}

// Rest implements poll.Handler.
func (h echoLoops) Rest(w *poll.Worker) {}

// Unsent implements poll.Handler.
func (h echoLoops) Unsent(w *poll.Worker, pc *poll.Conn, rest []byte) { panic("nothing is sent later") }

// run serves a connection until it is parked or ended.
func (h echoLoops) run(w *poll.Worker, c *echoWire) {
	lc := c.loop.LoopConn
	c.start = func(x *exchange) { h.start(w, x) }
	for {
		if c.serve() != conn.Park {
			h.end(c)
			return
		}
		by := h.parkedBy(w, c)
		c.start, lc.Turns = nil, c.Turns
		if c.Park(w, lc, by) {
			h.callPending(w, c)
			return
		}
		c.Attach(w, lc)
		c.start = func(x *exchange) { h.start(w, x) }
	}
}

// parkedBy returns when the connection expires: if it is idle, or if the client does not take what there is for it.
func (h echoLoops) parkedBy(w *poll.Worker, c *echoWire) poll.Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loop.took = c.progress()
	switch {
	case !c.busy():
		return c.ParkedBy(w, c.loop.LoopConn)
	case c.stuck:
		return poll.MomentOf(time.Now()).Add(h.s.set.Progress)
	}
	return 0
}

// isStuck reports whether the client has taken nothing since the connection was parked.
func (c *echoWire) isStuck() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stuck && c.progress() <= c.loop.took
}

func (h echoLoops) end(c *echoWire) {
	lc := c.loop.LoopConn
	c.loop.unhook()
	c.finish(func() { c.CloseOnLoop(lc) })
}

// start has a handler called: after the connection was parked, or by another worker. The wire is locked.
func (h echoLoops) start(w *poll.Worker, x *exchange) {
	place := &h.s.Places.Places[x.what]
	if d := h.s.loop; d == always || d == predicted && conn.IsFast(place.Load()) {
		x.c.pending = append(x.c.pending, x)
		return
	}
	w.Group().Hand(x)
}

// callPending calls handlers of a connection that is parked.
func (h echoLoops) callPending(w *poll.Worker, c *echoWire) {
	for {
		c.mu.Lock()
		if len(c.pending) == 0 {
			c.mu.Unlock()
			return
		}
		x := c.pending[0]
		if c.pending = c.pending[1:]; len(c.pending) > 0 {
			c.kick() // another worker calls the others, if x takes long
		}
		c.mu.Unlock()
		h.call(w, x)
	}
}

// call calls a handler.
func (h echoLoops) call(w *poll.Worker, x *exchange) {
	if !w.Leads() {
		start := time.Now()
		x.run()
		h.s.RanOffLoop(x.what, time.Since(start))
		return
	}
	x.leave = w.Leave
	seat := h.s.SeatAt(w, x.what)
	start, timed := seat.StartOnLoop()
	x.run()
	seat.EndOnLoop(start, timed)
}

func (c *echoWire) entry() *conn.Entry {
	if c.loop.LoopConn != nil {
		return &c.loop.Entry
	}
	return c.Entry
}
