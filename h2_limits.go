package gallop

import (
	"math"
	"runtime/debug"
	"time"

	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/quota"
)

// Limits that all HTTP/2 connections of a server share. One connection carries many requests, so a limit on connections does
// not bound what requests take.

// h2BodyWait is how long a request body waits for memory.
const h2BodyWait = 30 * time.Second

// h2HandlerWait is how long a request waits for one of MaxConcurrentHandlers.
const h2HandlerWait = 10 * time.Second

// resolveLimits sets the limits that connections share.
func (l *h2Conns) resolveLimits(s *Server) {
	l.handlers.Limit = math.MaxInt64
	if n := s.MaxConcurrentHandlers; n >= 0 {
		l.handlers.Limit = int64(orDefault(n, s.set.MaxConns))
	}
	l.bodies.Limit = int64(orNone(s.MaxRequestBodyMemory, defaultBodyMemory()))
}

// defaultBodyMemory returns the default of MaxRequestBodyMemory.
func defaultBodyMemory() int {
	if most := debug.SetMemoryLimit(-1); most < math.MaxInt64 {
		return int(min(max(most/4, 1), math.MaxInt))
	}
	return 256 << 20
}

// admit has the handler for a request called, at once or when fewer handlers run. behind means that earlier requests of the
// connection wait.
func (c *h2Conn) admit(st *h2Stream, behind bool) {
	if !behind && c.srv.h2.handlers.Take() {
		c.begin(st)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if st.err != nil {
		c.todo.push(st)
		return
	}
	st.await()
}

// await has the request wait until its handler may be called. The lock of c is held.
func (st *h2Stream) await() {
	st.ready, st.since = true, h2Now()
	st.c.ready.push(st)
}

// wakeForTurn has the connection served, because one of its requests may have its handler called.
func (c *h2Conn) wakeForTurn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.turned = true
		c.changed()
		c.wake()
	}
}

// admitReady has handlers called for requests that wait, as many as may run. It refuses requests that have waited for too long.
func (c *h2Conn) admitReady() {
	if c.turn == nil {
		c.turn = &quota.Waiter{Wake: c.wakeForTurn}
	}
	l := &c.srv.h2.handlers
	slots := l.Claim(c.turn)
	for {
		st, late := c.nextReady(slots)
		switch {
		case late:
			st.abort(http2.RefusedStream)
			st.drop()
			continue
		case st != nil:
			slots--
			c.begin(st)
			continue
		case slots == 0 && c.hasReady():
			l.Wait(c.turn)
		default:
			l.Leave(c.turn)
			l.Give(slots)
		}
		return
	}
}

// nextReady takes the first request that waits, if it has waited for too long or there is a slot for it.
func (c *h2Conn) nextReady(slots int) (st *h2Stream, late bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turned = false
	if st = c.ready.first; st == nil {
		return nil, false
	}
	if late = h2Now()-st.since >= int64(h2HandlerWait); !late && (slots == 0 || !c.mayAdmit()) {
		return nil, false
	}
	if !late && c.kept.Load() > h2MostKept/2 {
		st.tried, c.trying = true, true
	}
	c.ready.pop()
	st.ready = false
	return st, late
}

// hasReady reports whether requests wait for slots.
func (c *h2Conn) hasReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready.first != nil && c.mayAdmit()
}

// h2MostKept is how many bytes of responses that wait for windows a connection may have. Beyond that, handlers for its other
// requests are not called until the client has read, or has reset streams.
const h2MostKept = 16 << 20

// isLaden reports whether too many bytes wait for windows.
func (c *h2Conn) isLaden() bool { return c.kept.Load() > h2MostKept }

// mayAdmit reports whether the handler for a request that waits may be called, if there is a slot. If many bytes wait for windows,
// that happens for one request after the other, because nobody knows how large their responses are. c is locked.
func (c *h2Conn) mayAdmit() bool { return !c.isLaden() && !c.trying }

// endTry lets the next request be tried. c is locked.
func (c *h2Conn) endTry() {
	c.trying = false
	c.admitMore()
}

// admitMore has the connection served if the handler for a request that waits may be called. c is locked.
func (c *h2Conn) admitMore() {
	if c.ready.first != nil && c.mayAdmit() && !c.over {
		c.turned = true
		c.changed()
		c.wake()
	}
}

// mustWait has the request wait if too many bytes of its connection wait for windows. It then gives back the slot of the request.
func (st *h2Stream) mustWait() bool {
	c := st.c
	if !c.isLaden() || st.taken {
		return false
	}
	c.mu.Lock()
	waits := c.isLaden() && st.err == nil
	if waits {
		st.await()
		st.tried, c.trying = false, c.trying && !st.tried
		c.watchTime()
	}
	c.mu.Unlock()
	if waits {
		c.srv.h2.handlers.Give(1) // may wake connections, and locks them
	}
	return waits
}

// keep notes how many bytes of memory a response takes that waits for a window. The lock of c is held.
func (st *h2Stream) keep(n int) {
	c := st.c
	laden := c.isLaden()
	c.kept.Add(int64(n) - st.kept)
	if st.kept = int64(n); laden && !c.isLaden() {
		c.admitMore()
	}
}

// leaveHandlers gives back the slots of handlers that are not going to be called, because the connection has ended.
func (c *h2Conn) leaveHandlers(pending int) {
	l := &c.srv.h2.handlers
	if l.Give(pending); c.turn != nil {
		l.Leave(c.turn)
	}
}

// Each stream has a window from its start. Memory for that much of a collected body comes from an allowance of the connection,
// and then from the memory that all connections share. If both are used up, the request is refused at once, because the client
// may already send the body.
//
// A larger body needs more memory. The stream reserves memory for the whole body before its client gets credit. Such a stream
// can always finish, so streams that wait for memory cannot block each other. A body of unknown length reserves more as it
// grows. If the memory is used up for too long, the request is refused, and gives back its memory.

// mostWindow is how large the window of a stream becomes at most. It grows for a collected body of known length, and for a body
// that the handler reads as fast as it arrives.
const mostWindow = 1 << 20

// errBodyMemory refuses a request whose body has got no memory.
var errBodyMemory = refusing(StatusServiceUnavailable, "too many request bodies are in memory, see Server.MaxRequestBodyMemory")

// credit gives the client the credit that it is owed for a body that is collected, if there is memory for the body. The lock of
// c is held, and the engine has a buffer.
func (st *h2Stream) credit() {
	if reserved := st.reserve(); reserved == st.starved {
		if st.starved = !reserved; st.starved {
			st.since = h2Now()
		} else {
			st.paused += time.Duration(h2Now() - st.since)
		}
	}
	if !st.starved {
		st.c.engine.Collected(st.id, st.owed)
		st.owed = 0
	}
}

// reserveFirst reserves memory for what the client may send without credit. It reports false if there is not enough. The lock
// of c is held.
func (st *h2Stream) reserveFirst() bool {
	c, cfg := st.c, &st.c.srv.h2.config
	n := int64(cfg.StreamWindow)
	if announced := st.x.body.announced; announced >= 0 {
		n = min(n, announced)
	}
	if c.firsts+n <= int64(cfg.ConnWindow) {
		c.firsts += n
		st.first = n
		return true
	}
	return st.take(n)
}

// reserve reserves memory for a body that is larger than its first window. It reports false if there is not enough. The lock
// of c is held.
func (st *h2Stream) reserve() bool {
	more := st.wanted() - st.reserved
	if more <= 0 {
		return true
	}
	if !st.take(more) {
		return false
	}
	if n := st.x.body.announced; n > 0 {
		st.c.engine.GrowWindow(st.id, uint32(min(n, mostWindow)))
	}
	return true
}

// take takes memory that all connections share. A connection may take half of it, or memory for one body. The lock of c is held.
func (st *h2Stream) take(n int64) bool {
	c, l := st.c, &st.c.srv.h2.bodies
	if l.Limit > 0 && c.reserved > st.reserved && n > l.Limit/2-c.reserved || !l.Take(n, st.reserved) {
		return false
	}
	c.reserved += n
	st.reserved += n
	return true
}

// wanted returns how much memory the body needs before its client may send more. The lock of c is held.
func (st *h2Stream) wanted() int64 {
	window, most := int64(st.c.srv.h2.config.StreamWindow), st.x.maxBody
	switch n := st.x.body.announced; {
	case st.ended || n >= 0 && n <= window:
		return 0
	case n > window:
		return min(n, most)
	case st.got < window/2 || 2*st.got <= st.reserved: // the client gets no credit before half of its window is used
		return st.reserved
	}
	return min(max(DefaultMaxRequestBodySize, 4*st.got), most)
}

// awaitCredit gives the client credit while a handler reads the whole body. It waits for memory. The lock of c is held.
func (st *h2Stream) awaitCredit() error {
	for {
		st.c.borrow()
		st.credit()
		st.c.flush()
		by := st.readBy.Load()
		switch {
		case !st.starved, st.ended, st.cutRead, st.err != nil, by != nil && !time.Now().Before(*by):
			return nil
		case h2Now()-st.since >= int64(h2BodyWait):
			return errBodyMemory
		}
		st.wait(time.Now().Add(h2Tick))
	}
}

// giveBack gives back the memory for the body. The lock of c is held.
func (st *h2Stream) giveBack() {
	st.c.firsts -= st.first
	if st.first = 0; st.reserved > 0 {
		st.c.reserved -= st.reserved
		st.c.srv.h2.bodies.Give(st.reserved)
		st.reserved = 0
	}
}
