package gallop

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/quota"
	"github.com/gallop-http/gallop/internal/target"
)

// newH2 returns the wire of a connection that seat serves. input is what has arrived of it, in a buffer of bufpool that becomes the
// wire's.
func (s *Server) newH2(seat *conn.Conn, input []byte) *h2Conn {
	c := &h2Conn{srv: s, nc: seat.NC, id: seat.ID, lc: seat.Loop.Conn, seat: seat, served: 1}
	began, _ := seat.Begun()
	c.began = sinceEpoch(began)
	c.times.idle = c.began
	if c.lc == nil {
		c.room = sync.NewCond(&c.mu)
	} else {
		c.pusher = seat.StartPushing()
	}
	c.borrow()
	c.engine.Init(&s.h2.config)
	c.startHealth()
	if seat.TLS != nil && !s.h2.permitsCipher(seat.TLS) {
		c.mu.Lock()
		c.fail(http2.ErrInadequateSecurity)
		c.unlock()
	}
	seat.RunsApart(true)                         // Stats counts streams
	c.active = seat.TLS == nil && len(input) > 0 // as HTTP/1 has reported
	seat.OwnReports, seat.Wakeable = true, c.lc == nil
	c.partial = input
	if s.h2.add(c) {
		c.engine.Shutdown()
	}
	return c
}

// serve serves the connection until it has to be parked or ended.
func (c *h2Conn) serve(seat *conn.Conn) conn.Next {
	c.seat = seat
	rest := true // the output may have been full before, or the share used up, so that frames in c.partial are not read yet
	var share h2Share
	for {
		if read := len(seat.Input.Unread()) > 0; read || rest && len(c.partial) > 0 {
			rest = c.feed(&seat.Input, sinceEpoch(seat.Now), &share)
			seat.Input.ReleaseHead(seat.Set.Poison)
			if filled := seat.Input.Widen(); filled || read {
				c.putOff &^= h2MayHaveMore
				if filled && (c.lc != nil || seat.Input.Arrived()) {
					c.putOff |= h2MayHaveMore
				}
			}
		}
		later := c.mayPutOff(c.putOff&h2MayHaveMore != 0 || share.over && len(c.partial) > 0)
		if !later {
			c.work()
		}
		n := c.wait(seat, rest, share.over)
		if later && n == conn.Park {
			c.work()
			n = c.wait(seat, rest, share.over)
		}
		if n != conn.Step {
			return n
		}
		if share.over {
			share = h2Share{}
		}
	}
}

// h2Share is how much of a processor a connection uses before others have their turn. A client that sends frames faster than the
// server takes them would otherwise keep a loop, or a processor of goroutines, for milliseconds.
type h2Share struct {
	work int   // since the last look at the clock, as in http2.Event
	from int64 // when the clock was read first, see h2Now
	most int64 // how long it is, or 0: h2MostShare
	over bool
}

const (
	h2LookAfter = 4 << 10         // how much work a connection does between two looks at the clock; most connections never look
	h2CallWork  = h2LookAfter / 8 // a call of a handler on the loop
)

// h2MostShare is how long a connection is served after the first look at the clock, while others may wait.
const h2MostShare = int64(50 * time.Microsecond)

// h2LongShare is the share for handlers on a loop if h2ManyQueued connections wait for their next share already. So most connections
// end what they have begun before the loop begins with others. Otherwise, the requests of all of them would take memory at a time.
const (
	h2LongShare  = 4 * h2MostShare
	h2ManyQueued = 16
)

// use counts the work of an event.
func (s *h2Share) use(work int) {
	if s.work += work; s.work < h2LookAfter {
		return
	}
	s.work = 0
	if now := h2Now(); s.from == 0 {
		s.from = now
	} else {
		s.over = now-s.from >= max(s.most, h2MostShare)
	}
}

const (
	mostPutOff    = 4      // how often in a row the work of a connection is put off
	h2MayHaveMore = 1 << 7 // the last read may have left bytes in the socket
)

// mayPutOff reports whether requests that have arrived wait until more frames are taken. more means that there are some, which
// need no wait. Attackers reset most of their requests, or send frames that end the connection, so that their handlers are not called.
func (c *h2Conn) mayPutOff(more bool) bool {
	if !more || c.putOff&^h2MayHaveMore == mostPutOff {
		c.putOff &= h2MayHaveMore
		return false
	}
	c.putOff++
	return true
}

// work judges requests that have arrived, and has their handlers called.
func (c *h2Conn) work() {
	var known target.KnownHost // most requests of a client are for one host
	for {
		c.mu.Lock()
		if c.failed != nil { // finish ends the streams
			c.mu.Unlock()
			return
		}
		st, behind := c.todo.pop(), c.ready.first != nil || c.isLaden()
		judged := st != nil && st.judged
		if st != nil {
			st.judged = true
		}
		c.mu.Unlock()
		switch {
		case st == nil:
			if c.turn != nil || behind {
				c.admitReady()
			}
			return
		case st.gone.Load():
			st.drop()
		case judged || c.judge(st, &known):
			c.admit(st, behind)
		}
	}
}

// judge judges a request. ready means that its handler can be called, or that it is refused. A hook that panics costs the stream.
func (c *h2Conn) judge(st *h2Stream, known *target.KnownHost) (ready bool) {
	if !c.active && c.srv.ConnState != nil {
		c.report(conn.StateActive)
	}
	done := false
	defer st.endUnless(&done)
	ready = st.judge(c.seat, known)
	done = true
	return ready
}

// wait waits for input: with streams open, and otherwise for a new one. If the output is full, frames that have arrived are not read
// yet, so wait only waits for room. If the share is used up, others have their turn first. rest means that c.partial may have whole frames.
func (c *h2Conn) wait(seat *conn.Conn, rest, over bool) conn.Next {
	busy, full, err := c.look()
	if c.active && !busy && c.srv.ConnState != nil && !c.mayGoOn() {
		c.report(conn.StateIdle)
	}
	switch {
	case err != nil:
		return seat.EndedBy(err)
	case full && c.lc != nil:
		return conn.Park
	case over && c.lc != nil:
		return conn.Again
	case over || full:
		if over {
			seat.Yield()
		}
		if full {
			c.awaitRoom()
		}
		return conn.Step
	case rest && len(c.partial) > 0:
		return conn.Step
	}
	var n conn.Next
	if busy {
		n = seat.WaitMore()
	} else {
		seat.IdleBy = c.idleUntil(seat.Now)
		n = seat.WaitIdle()
	}
	if n == conn.Ended && seat.Err == conn.ErrIdle && c.mayGoOn() {
		return conn.Park
	}
	return n
}

// report tells the program about a new state.
func (c *h2Conn) report(state conn.State) {
	c.active = state == conn.StateActive
	c.seat.Guard("ConnState", func() { c.seat.Report(state) })
}

// look sends what there is to send. busy means that the connection is in the middle of something; full that it reads no further
// before the client has read.
func (c *h2Conn) look() (busy, full bool, err error) {
	c.mu.Lock()
	defer c.unlock()
	c.noteServed()
	c.flush()
	c.watchTime()
	if c.failed != nil || c.isDone() {
		if c.failed == nil {
			return false, false, errH2Done
		}
		return false, false, c.failed
	}
	busy = c.held > c.waiting || c.isUnsent() || c.flushing || c.engine.BlockOpen()
	return busy, c.engine.IsFull(), nil
}

// errH2Done ends a connection that is shutting down and has no more streams. It is routine.
var errH2Done = errors.New("the HTTP/2 connection is shut down")

// isDone reports whether a shutdown is complete. c is locked.
func (c *h2Conn) isDone() bool {
	_, last := c.engine.ShuttingDown()
	return last && c.held == 0 && !c.isUnsent() && !c.flushing
}

// awaitRoom waits until the client has read, or a handler may be called, on a connection that a goroutine serves.
func (c *h2Conn) awaitRoom() {
	c.mu.Lock()
	defer c.unlock()
	for c.engine.IsFull() && c.failed == nil && !c.turned {
		c.room.Wait()
	}
}

// wake has the connection served, although nothing may have arrived.
func (c *h2Conn) wake() {
	if c.lc != nil {
		c.lc.Kick()
	} else {
		c.seat.Wake()
	}
}

// changed wakes goroutines that wait for room. c is locked.
func (c *h2Conn) changed() {
	if c.room != nil {
		c.room.Broadcast()
	}
}

// settled is called when the last stream has ended. c is locked. A connection of a loop is served again if that ends it. If the
// client has hung up, its loop has already reported that, and does not report it again.
func (c *h2Conn) settled() {
	c.times.idle = h2Now()
	c.engine.Lend()
	switch {
	case c.over:
		c.drop()
	case c.lc == nil || c.srv.ConnState != nil || c.isDone() || c.lc.Ended():
		c.wake()
	}
}

// drop gives memory back if the connection is over and no handler uses it any more. When the connection of a loop is closed, drop also
// takes it out of the table. c is locked.
func (c *h2Conn) drop() {
	if c.over && c.held == 0 {
		c.freeStreams()
		c.engine.Free()
		c.engine.Sent(len(c.engine.Out()))
		c.returnOut()
		if c.lc != nil && !c.lingers {
			c.srv.conns.Table.Drop(&c.lc.Entry)
		}
	}
	c.changed()
}

// logH2End logs why a connection ended, unless that is routine.
func (s *Server) logH2End(c *h2Conn, err error) {
	if err != nil && err != conn.ErrIdle && err != errH2Done && err != io.EOF {
		s.conns.Log.Connection(c.nc.RemoteAddr(), c.id, err, s.LogAllErrors)
	}
}

// farewell tells the client that the connection ends, and why.
func (c *h2Conn) farewell(seat *conn.Conn) {
	c.mu.Lock()
	c.borrow()
	var reason *http2.Error
	if errors.As(c.failed, &reason) {
		c.engine.Fail(reason)
	} else {
		c.engine.FinishShutdown()
	}
	c.flush()
	c.unlock()
	if seat.Err == io.EOF || c.isBroken() {
		return
	}
	c.awaitFlush()
	if !seat.LingerOnLoop() {
		seat.Linger()
	}
}

// lingersOn notes that the loop closes the connection later.
func (c *h2Conn) lingersOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lingers = true
}

// lingered is called when the loop has closed the connection.
func (c *h2Conn) lingered() {
	c.mu.Lock()
	defer c.unlock()
	c.lingers = false
	c.drop()
}

// finish ends the connection. close closes it.
func (c *h2Conn) finish(seat *conn.Conn, close func()) {
	c.srv.h2.remove(c)
	seat.EndWaiting()
	c.farewell(seat)
	c.mu.Lock()
	c.over = true
	c.loseStreams(errH2Over)
	pending := 0
	c.dropTunnels()
	c.waiting = 0
	for st := c.pending.pop(); st != nil; st = c.pending.pop() {
		pending++
		st.close()
	}
	for st := c.todo.pop(); st != nil; st = c.todo.pop() {
		st.close()
	}
	c.unlock()
	c.leaveHandlers(pending)
	defer c.settle() // also if the ConnState of the program panics
	close()
}

// settle ends what a closed connection has left: timers, and on goroutines also handlers and writes.
func (c *h2Conn) settle() {
	bufpool.Release(&c.partial)
	c.mu.Lock()
	defer c.unlock()
	c.srv.h2.ticker.remove(c)
	c.health.stop()
	if c.lc == nil {
		for c.held > 0 || c.flushing {
			c.room.Wait()
		}
	}
	c.drop()
}

// serveOnGoroutine serves the connection to its end.
func (c *h2Conn) serveOnGoroutine(seat *conn.Conn, close func()) error {
	ended := false
	defer func() {
		if !ended { // a hook has ended the goroutine
			c.finish(seat, close)
		}
	}()
	c.serve(seat)
	ended = true
	err := seat.Err
	c.finish(seat, close)
	if err == conn.ErrIdle || err == errH2Done || err == io.EOF {
		err = nil
	}
	return err
}

// h2Conns are the HTTP/2 connections of a server, and what they have in common.
type h2Conns struct {
	config    http2.Config
	anyCipher bool
	health    h2HealthSettings
	ticker    h2Ticker
	ready     h2Ready
	hijacked  atomic.Bool // it was logged that a handler called Hijack

	mu     sync.Mutex
	first  *h2Conn
	ending bool

	handlers quota.Slots // for calls of Handler
	bodies   quota.Bytes // for request bodies that are collected
}

// add adds a connection. It reports whether the connections are to be shut down.
func (l *h2Conns) add(c *h2Conn) (ending bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.next = l.first; c.next != nil {
		c.next.prev = c
	}
	l.first = c
	return l.ending
}

func (l *h2Conns) remove(c *h2Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.next != nil {
		c.next.prev = c.prev
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else if l.first == c {
		l.first = c.next
	}
	c.next, c.prev = nil, nil
}

// shutDown tells all clients to open no more streams.
func (l *h2Conns) shutDown() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending = true
	l.shutDownIf(func(*h2Conn) bool { return true })
}

// shutDownIdle does the same for connections that have carried requests and wait for more.
func (l *h2Conns) shutDownIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shutDownIf(func(c *h2Conn) bool { return c.turns > 0 && c.held == 0 })
}

// shutDownIf shuts down connections of which cond is true, which is called while they are locked. l is locked.
func (l *h2Conns) shutDownIf(cond func(*h2Conn) bool) {
	for c := l.first; c != nil; c = c.next {
		c.mu.Lock()
		if !c.over && cond(c) {
			c.borrow()
			c.engine.Shutdown()
			c.watchTime()
			c.wake()
		}
		c.mu.Unlock()
	}
}

// correct corrects the numbers of active and of idle connections: a connection of a loop is active while it has streams, whatever
// it waited for when it was parked.
func (l *h2Conns) correct(stats *ServerStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := l.first; c != nil; c = c.next {
		if c.lc == nil {
			continue
		}
		switch active, counted := c.mayGoOn(), !c.lc.Entry.Waits(); {
		case active && !counted && stats.Idle > 0:
			stats.Active, stats.Idle = stats.Active+1, stats.Idle-1
		case !active && counted && stats.Active > 0:
			stats.Active, stats.Idle = stats.Active-1, stats.Idle+1
		}
	}
}

// h2Visible is an HTTP/2 connection as the program sees it.
type h2Visible struct{ c *h2Conn }

// Read implements net.Conn.
func (v h2Visible) Read([]byte) (int, error) { return 0, errShared }

// Write implements net.Conn.
func (v h2Visible) Write([]byte) (int, error) { return 0, errShared }

// Close implements net.Conn.
func (v h2Visible) Close() error { return errShared }

// LocalAddr implements net.Conn.
func (v h2Visible) LocalAddr() net.Addr { return v.c.nc.LocalAddr() }

// RemoteAddr implements net.Conn.
func (v h2Visible) RemoteAddr() net.Addr { return v.c.nc.RemoteAddr() }

// SetDeadline implements net.Conn.
func (v h2Visible) SetDeadline(time.Time) error { return errShared }

// SetReadDeadline implements net.Conn.
func (v h2Visible) SetReadDeadline(time.Time) error { return errShared }

// SetWriteDeadline implements net.Conn.
func (v h2Visible) SetWriteDeadline(time.Time) error { return errShared }

// h2VisibleTLS is h2Visible with TLS.
type h2VisibleTLS struct{ h2Visible }

// ConnectionState returns the state of TLS.
func (v h2VisibleTLS) ConnectionState() tls.ConnectionState {
	return v.c.nc.(tlsStater).ConnectionState()
}

// visible returns the connection as the program sees it.
func (c *h2Conn) visible() net.Conn {
	if _, ok := c.nc.(tlsStater); ok {
		return h2VisibleTLS{h2Visible{c}}
	}
	return h2Visible{c}
}
