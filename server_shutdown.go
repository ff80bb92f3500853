package gallop

import (
	"context"
	"maps"
	"net"
	"time"
)

// acceptGrace is how long Shutdown still accepts what waits in a listener's queue.
const acceptGrace = 20 * time.Millisecond

// Shutdown shuts the server down gracefully and waits for that without a bound. See
// ShutdownWithContext.
func (s *Server) Shutdown() error { return s.ShutdownWithContext(context.Background()) }

// ShutdownWithContext shuts the server down without cutting off a request: for the
// time of LameDuck every response is the last one on its connection; then listeners
// are closed, once the connections waiting in them were accepted, idle connections
// end at once, RequestCtx.Done is closed, and the rest may finish. When ctx ends
// first, what is left is closed and the error of ctx returned at once, while handlers
// may still run. Hijacked connections are their owners'.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	s.prepare()
	s.stopping.Store(true)
	if s.LameDuck > 0 {
		t := time.NewTimer(s.LameDuck)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	s.conns.closeListeners(acceptGrace)
	s.away.end()
	s.stop()
	s.ending.Store(true)
	s.conns.endIdle(ctx)

	unhook := context.AfterFunc(ctx, s.conns.wake)
	defer unhook()
	if !s.conns.waitEmpty(ctx) {
		s.conns.closeAll()
		s.workers.drain()
		return ctx.Err()
	}
	s.workers.drain()
	return nil
}

// Close closes all listeners and connections at once. Requests that are being
// served are cut off, and Close waits for their handlers to notice: a handler must not
// call it.
func (s *Server) Close() error {
	s.prepare()
	s.stopping.Store(true)
	s.ending.Store(true)
	s.stop()
	s.conns.closeListeners(0)
	s.away.end()
	s.conns.closeAll()
	s.conns.waitEmpty(context.Background())
	s.workers.drain()
	return nil
}

// closeListeners makes the accept loops end: after a time in which they still accept
// what clients believe to be connected, if the listeners can do that.
func (t *connTable) closeListeners(grace time.Duration) {
	t.mu.Lock()
	if !t.closing {
		t.closing = true
		close(t.closingC)
	}
	for ln, silence := range t.listeners {
		d, ok := ln.(interface{ SetDeadline(time.Time) error })
		if grace == 0 || !ok || d.SetDeadline(time.Now().Add(grace)) != nil {
			closeListener(ln, silence)
		}
	}
	if len(t.listeners) > 0 && grace > 0 {
		// One that goes around another may keep to itself that its time is over.
		late := time.AfterFunc(10*grace, t.closeLate)
		defer late.Stop()
	}
	for len(t.listeners) > 0 {
		t.ended.Wait()
	}
	t.mu.Unlock()
}

// closeLate closes the listeners that are left, and does not keep others waiting for that.
func (t *connTable) closeLate() {
	t.mu.Lock()
	left := maps.Clone(t.listeners)
	t.mu.Unlock()
	for ln, silence := range left {
		closeListener(ln, silence)
	}
}

// closeListener closes a listener, and before that has the loops not watch it any more, if they do.
func closeListener(ln net.Listener, silence func()) {
	if silence != nil {
		silence()
	}
	ln.Close()
}

// isClosing reports whether closeListeners was called.
func (t *connTable) isClosing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing
}

// Connections of loops that wait for a request have no goroutines, and get one to end. endIdleAtOnce is how many of them
// have one at a time, or had one endIdlePatience ago.
const (
	endIdleAtOnce   = 256
	endIdlePatience = 100 * time.Millisecond
)

// endIdle wakes connections that wait for a request, which then end, until ctx does.
func (t *connTable) endIdle(ctx context.Context) {
	all := t.wakeIdle()
	open := int(t.open.Load())
	for i, lc := range all {
		if i >= endIdleAtOnce && i%(endIdleAtOnce/2) == 0 {
			left := open - (i - endIdleAtOnce/2)
			for end := time.Now().Add(endIdlePatience); int(t.open.Load()) > left && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if ctx.Err() != nil {
				return
			}
		}
		lc.kick()
	}
}

// asleep is a connection of a loop that waits for a request.
type asleep interface{ kick() }

// wakeIdle tells connections that wait for a request to end, and wakes them but for those that it returns.
func (t *connTable) wakeIdle() (rest []asleep) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.each(func(c *tableEntry) {
		if !c.state.CompareAndSwap(phaseIdle, phaseEnding) {
			return
		}
		if lc, ok := c.nc.(asleep); ok {
			rest = append(rest, lc)
		} else {
			c.nc.SetReadDeadline(time.Unix(1, 0))
		}
	})
	return rest
}

// closeAll closes all connections, and those that are on their way to the ring.
func (t *connTable) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = true
	t.each(func(c *tableEntry) { c.nc.Close() })
}

// waitEmpty waits until no connection is left, neither in the ring nor on its way to
// it, and reports false if ctx ends before that. See wake.
func (t *connTable) waitEmpty(ctx context.Context) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.open.Load() > 0 {
		if ctx.Err() != nil {
			return false
		}
		t.ended.Wait()
	}
	return true
}

// wake lets waitEmpty look whether its ctx has ended.
func (t *connTable) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended.Broadcast()
}
