package gallop

import (
	"runtime"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/poll"
)

// loopServer is a server as its loops see it: it serves HTTP/1 on their connections.
type loopServer struct {
	conn.Loops
	s *Server
}

// Handler returns what the event loops call.
func (s *Server) loopHandler() conn.Handler { return loopServer{conn.Loops{Server: &s.conns}, s} }

// Begin implements poll.Handler.
func (h loopServer) Begin(w *poll.Worker, pc *poll.Conn) {
	s, lc := h.s, pc.Data.(*conn.LoopConn)
	switch {
	case lc.IsTLS():
		lc.HandOver() // a handshake takes long
	case w.Leads():
		s.serveNew(w, lc)
	default: // there may be others to accept, who need not wait for this one
		w.Group().Hand(func(w *poll.Worker) { s.serveNew(w, lc) })
	}
}

// serveNew serves a connection that was accepted just now.
func (s *Server) serveNew(w *poll.Worker, lc *conn.LoopConn) {
	s.runOn(w, s.attached(w, lc), true)
}

// Serve implements poll.Handler.
func (h loopServer) Serve(w *poll.Worker, pc *poll.Conn) {
	switch data := pc.Data.(type) {
	case *conn.LoopConn:
		c := h.s.attached(w, data)
		c.StartAhead(w, pc)
		h.s.runOn(w, c, data.IsTLS() && !data.TLS().Shaken)
	case *h2Conn:
		c := h.s.attached(w, data.lc)
		c.OwnReports = true
		c.StartAhead(w, pc)
		h.s.runH2(w, c, data)
	case *conn.Lingering:
		data.Serve()
	}
}

// Expire implements poll.Handler.
func (h loopServer) Expire(w *poll.Worker, pc *poll.Conn) {
	switch data := pc.Data.(type) {
	case *conn.LoopConn:
		c := h.s.attached(w, data)
		c.Expire()
		h.s.runOn(w, c, false)
	case *h2Conn:
		c := h.s.attached(w, data.lc)
		c.OwnReports = true
		if !data.mayGoOn() && !c.Now.Before(data.idleUntil(c.Now)) {
			c.Expire()
		}
		h.s.runH2(w, c, data)
	case *conn.Lingering:
		data.Close()
	}
}

// attached has the serverConn of w take a connection.
func (s *Server) attached(w *poll.Worker, lc *conn.LoopConn) *serverConn {
	c := s.connOf(w)
	c.attach(w, lc)
	return c
}

// Unsent implements poll.Handler.
func (h loopServer) Unsent(w *poll.Worker, pc *poll.Conn, rest []byte) {
	c := h.s.attached(w, pc.Data.(*conn.LoopConn))
	c.Output.LimitTo(c.set.Write)
	c.TakeUnsent(rest)
	h.s.runOn(w, c, false)
}

// Run implements poll.Handler.
func (h loopServer) Run(w *poll.Worker, data any) {
	switch data := data.(type) {
	case *serverConn:
		h.s.release(w)
		w.Local = data
		data.Loop.Worker = w
		h.s.runOn(w, data, false)
		h.s.release(w)
	case *h2Ready:
		data.serve(w)
	case func(*poll.Worker):
		data(w)
	}
}

// Rest implements poll.Handler.
func (h loopServer) Rest(w *poll.Worker) {
	if c, ok := w.Local.(*serverConn); ok {
		c.Publish()
	}
}

// connOf returns the serverConn that w has.
func (s *Server) connOf(w *poll.Worker) *serverConn {
	if c, ok := w.Local.(*serverConn); ok {
		return c
	}
	if c, ok := s.vacant.Get().(*serverConn); ok {
		w.Local = c
		return c
	}
	c := s.acquireConn()
	c.Prepare(&s.conns, c)
	w.Local = c
	return c
}

// release leaves the serverConn that w has, if it has one, to a leader: those give theirs
// away with the requests that they do not answer themselves.
func (s *Server) release(w *poll.Worker) {
	if c, ok := w.Local.(*serverConn); ok {
		w.Local = nil
		s.vacant.Put(c)
	}
}

// attach takes lc, which w serves. c serves no connection, and its Seat is empty.
func (c *serverConn) attach(w *poll.Worker, lc *conn.LoopConn) {
	c.Conn.Attach(w, lc)
	c.close, c.OwnReports = false, false
}

// runOn serves the connection that c is attached to until it goes back to its loop, is moved
// to another worker, or ends.
func (s *Server) runOn(w *poll.Worker, c *serverConn, isNew bool) {
	lc, settled := c.Loop.Conn, false
	defer func() {
		if settled {
			return
		}
		if v := recover(); v != nil { // in a hook: handlers are looked after
			s.conns.Log.Panicked(lc.RemoteAddr(), lc.ID, "panic ends a connection", v)
		}
		s.finish(w, c, lc, false, c.hijacked)
	}()
	if isNew {
		c.Report(conn.StateNew)
		proto, ok := "", true
		if lc.IsTLS() {
			proto, ok = c.shakeHands(lc)
		}
		h2 := ok && s.usesH2(&c.Conn, proto)
		if settled = !ok || !h2 && !s.speaksH1(); settled {
			s.finish(w, c, lc, true, false)
			return
		}
		c.StartWaiting()
		if h2 {
			settled = true
			s.runH2(w, c, s.beginH2(c))
			return
		}
	}
	for {
		switch c.serve() {
		case conn.Park:
			if settled = c.park(w, lc); settled {
				return
			}
		case conn.Later:
			settled = true
			c.ParkLater(w, lc)
			return
		case conn.Move:
			c.Publish()
			w.Local, settled = nil, true
			w.Group().Hand(c)
			return
		case conn.Taken:
			settled = true
			s.finish(w, c, lc, false, true)
			if c.handed != nil {
				c.startHijack(c.handed)
			}
			return
		default:
			settled = true
			if c.Err == errPreface {
				s.runH2(w, c, s.beginH2(c))
				return
			}
			s.logEnd(lc, lc.ID, c.Err)
			s.finish(w, c, lc, true, false)
			return
		}
	}
}

// shakeHands does the TLS handshake of a new connection, and has the connection served to its end if the client has chosen
// a protocol of NextProto. ok means that HTTP/1 or HTTP/2 follows.
func (c *serverConn) shakeHands(lc *conn.LoopConn) (proto string, ok bool) {
	proto, err := c.Handshake()
	if err == nil {
		serve := c.srv.protos[proto]
		if serve == nil {
			c.Shaken()
			return proto, true
		}
		err = serve(lc.Visible())
	} else {
		answerPlainHTTP(err)
	}
	if err != nil {
		c.srv.conns.Log.Connection(lc.RemoteAddr(), lc.ID, err, c.srv.LogAllErrors)
	}
	return "", false
}

// park leaves lc to its loop. It reports false, and c goes on to serve lc, if there is something to read already. A c that is
// shared never gets here: the response to a request that has timed out is the last one on its connection.
func (c *serverConn) park(w *poll.Worker, lc *conn.LoopConn) (parked bool) {
	by := c.ParkedBy(w, lc)
	lc.Turns = c.Turns
	if parked = c.Conn.Park(w, lc, by); !parked {
		c.attach(w, lc)
	}
	return parked
}

// mayParkLater reports whether lc may be left to its loop before it was sent what there
// is for it: if it is sure that there is nothing left to do.
func (c *serverConn) mayParkLater() bool {
	return c.MayLeaveUnsent() && c.exchange != nil && c.writeLimit == c.set.Write
}

// finish ends the connection lc.
func (s *Server) finish(w *poll.Worker, c *serverConn, lc *conn.LoopConn, ended, hijacked bool) {
	w.Local = nil
	var left *conn.Lingering
	defer func() {
		if left != nil {
			left.Serve()
			return
		}
		s.conns.Table.Drop(&lc.Entry) // nothing is left when Shutdown sees it gone
	}()
	defer func() {
		if !hijacked {
			left = c.CloseOnLoop(lc)
		}
		if ended && !c.shared {
			*c = serverConn{}
			s.retired.Put(c)
		}
	}()
	c.release()
}

// moreOfHead reads more of a head that is not finished, or puts the head aside until more bytes arrive. If more is
// false and n is Step, the caller has to wait for more bytes.
func (c *serverConn) moreOfHead() (more bool, n conn.Next) {
	if more, n = c.MoreInput(); n == conn.Park {
		c.startClock()
		c.PutAside(c.began)
		c.ctx.Request.Header.Reset()
	}
	return more, n
}

// mayRunHere reports whether the handler for the request may be called by the worker: on
// the loop, or, if it does not lead, off it.
func (c *serverConn) mayRunHere() bool {
	c.DropPartial()
	switch c.srv.Dispatch {
	case DispatchInline:
		return true
	case DispatchGoroutine:
		return c.RunAway()
	}
	return c.MayRunAt(placeIndex(&c.ctx.Request.Header.head))
}

// handleOnLoop calls the handler, and remembers how long it took.
func (c *serverConn) handleOnLoop() {
	if !c.Loop.Worker.Leads() {
		start := c.StartOffLoop()
		c.srv.Handler(&c.ctx)
		c.EndOffLoop(start)
		return
	}
	start, timed := c.Loop.StartOnLoop()
	c.srv.Handler(&c.ctx)
	c.Loop.EndOnLoop(start, timed)
}

// beginH2 makes the connection that c serves one of HTTP/2.
func (s *Server) beginH2(c *serverConn) *h2Conn {
	lc := c.Loop.Conn
	h2 := s.newH2(&c.Conn, c.takeInput())
	lc.Data = h2
	return h2
}

// runH2 serves an HTTP/2 connection that c is attached to until it goes back to its loop or ends. Fast handlers are called
// when it is back there.
func (s *Server) runH2(w *poll.Worker, c *serverConn, h2 *h2Conn) {
	lc, settled := h2.lc, false
	defer func() {
		if !settled { // the connection has ended, or a hook has ended the goroutine
			s.finishH2(w, c, h2)
		}
	}()
	for {
		next := h2.serve(&c.Conn)
		if next == conn.Again {
			settled = true
			lc.Turns = c.Turns
			h2.seat = nil
			c.Conn.Requeue(w, lc)
			h2.callPending(w)
			return
		}
		if next != conn.Park {
			return
		}
		by := poll.Moment(0)
		if at := h2.idleUntil(c.Now); !at.IsZero() {
			by = poll.MomentOf(at)
		}
		lc.Turns = c.Turns
		h2.seat = nil
		if settled = c.Conn.Park(w, lc, by); settled {
			h2.callPending(w)
			return
		}
		c.attach(w, lc)
		c.OwnReports = true
	}
}

// finishH2 ends an HTTP/2 connection.
func (s *Server) finishH2(w *poll.Worker, c *serverConn, h2 *h2Conn) {
	w.Local = nil
	s.logH2End(h2, c.Err)
	var left *conn.Lingering
	defer func() {
		if left != nil {
			left.Serve()
		}
	}()
	h2.finish(&c.Conn, func() {
		c.release()
		if left = c.CloseOnLoop(h2.lc); left != nil {
			h2.lingersOn()
			left.Closed = h2.lingered
		}
	})
	*c = serverConn{}
	s.retired.Put(c)
}

// begin has the handler for a request called: by this worker when the connection is parked, or by another one.
func (c *h2Conn) begin(st *h2Stream) {
	if c.lc == nil {
		c.beginOnGoroutine(st)
		return
	}
	s := c.srv
	st.what = placeIndex(&st.x.ctx.Request.Header.head)
	inline := s.Dispatch == DispatchInline || s.Dispatch == DispatchAuto && conn.IsFast(s.conns.Places.Places[st.what].Load())
	if inline && (st.x.body.handle == nil || s.Dispatch == DispatchInline) {
		c.mu.Lock()
		c.pending.push(st)
		c.waiting++
		c.mu.Unlock()
		return
	}
	if ready := &s.h2.ready; ready.push(st) {
		c.seat.Loop.Worker.Group().Hand(ready)
	}
}

// serve serves streams, as a worker that has just started.
func (q *h2Ready) serve(w *poll.Worker) {
	q.started()
	for {
		st, start, yield := q.pop()
		if st == nil {
			return
		}
		if yield {
			runtime.Gosched()
		}
		if start {
			w.Group().Hand(q)
		}
		st.serveOffLoop()
	}
}

// callPending calls the handlers of fast requests of a connection that is parked. If one of them takes long, another worker
// serves the connection, and calls those that are left. If all of them together take longer than the share of a connection, the
// loop serves other connections before it calls those that are left.
func (c *h2Conn) callPending(w *poll.Worker) {
	done := false
	defer func() {
		if !done { // a handler has ended the goroutine, or some are left
			c.wake()
		}
	}()
	var share h2Share
	if w.Queued() >= h2ManyQueued {
		share.most = h2LongShare
	}
	for {
		c.mu.Lock()
		var st *h2Stream
		if !share.over {
			st = c.pending.pop()
		}
		if st == nil {
			done = c.pending.first == nil
			c.flush()
			c.unlock()
			return
		}
		c.waiting--
		c.mu.Unlock()
		if !w.Leads() {
			st.serveOffLoop()
			continue
		}
		if st.mustWait() {
			continue
		}
		w.ServeIfOvertaken(&c.lc.Conn)
		st.seat, st.onLoop = c.srv.conns.SeatAt(w, st.what), true
		st.serve()
		share.use(h2CallWork)
	}
}

// isBatched reports whether the worker that serves the stream flushes after it has served others.
func (st *h2Stream) isBatched() bool { return st.onLoop && st.seat.Worker.Leads() }

// serveOffLoop calls the handler off the loop, and remembers how long it took.
func (st *h2Stream) serveOffLoop() {
	if st.mustWait() {
		return
	}
	s, what, start := st.c.srv, st.what, time.Now()
	st.serve()
	s.conns.RanOffLoop(what, time.Since(start))
}
