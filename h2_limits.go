package gallop

import (
	"time"

	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/quota"
)

// Limits that all HTTP/2 connections of a server share. One connection carries many requests, so a limit on connections does
// not bound what requests take.

// h2HandlerWait is how long a request waits for one of MaxConcurrentHandlers.
const h2HandlerWait = 10 * time.Second

// resolveLimits sets the limits that connections share.
func (l *h2Conns) resolveLimits(s *Server) {
	if n := s.MaxConcurrentHandlers; n >= 0 {
		l.handlers.Limit = int64(orDefault(n, s.set.MaxConns))
	}
}

// admit has the handler for a request called, at once or when fewer handlers run. behind means that earlier requests of the
// connection wait.
func (c *h2Conn) admit(st *h2Stream, behind bool) {
	if !behind && c.srv.h2.handlers.Take() {
		c.begin(st)
		return
	}
	if c.turn == nil {
		c.turn = &quota.Waiter{Wake: c.wakeForTurn}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if st.err != nil {
		c.todo.push(st)
		return
	}
	st.ready, st.since = true, h2Now()
	c.ready.push(st)
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
	l := &c.srv.h2.handlers
	slots := l.Claim(c.turn)
	for {
		st, late := c.nextReady(slots)
		switch {
		case late:
			st.abort(http2.RefusedStream)
			st.end()
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
	if late = h2Now()-st.since >= int64(h2HandlerWait); !late && slots == 0 {
		return nil, false
	}
	c.ready.pop()
	st.ready = false
	return st, late
}

// hasReady reports whether requests wait.
func (c *h2Conn) hasReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready.first != nil
}

// leaveHandlers gives back the slots of handlers that are not going to be called, because the connection has ended.
func (c *h2Conn) leaveHandlers(pending int) {
	l := &c.srv.h2.handlers
	if l.Give(pending); c.turn != nil {
		l.Leave(c.turn)
	}
}
