package gallop

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// closePatience is how long Close waits for listeners, and for connections whose Close blocks.
// Shutdown waits for such connections as long as cutPatience behind the end of its context.
const (
	closePatience = time.Second
	cutPatience   = 50 * time.Millisecond
)

// endIdle ends the connections that wait for bytes, unless some arrive in time. All of them end at once when
// their time is over. endIdle returns when they have been told so, when no connection is left, or when ctx ends.
func (t *connTable) endIdle(ctx context.Context) {
	fresh := t.warnIdle(false)
	if t.waitEmptyFor(ctx, idleGrace) || ctx.Err() != nil {
		return
	}
	t.endWarned(true)
	if fresh && !t.waitEmptyFor(ctx, newConnGrace-idleGrace) && ctx.Err() == nil {
		t.endWarned(false)
	}
}

// warnIdle starts the end of the connections that wait for bytes, or only of those that have had a turn. Bytes that arrive
// before endWarned is called are served. warnIdle reports whether there were connections that have brought nothing yet.
// Connections in a TLS handshake get little more time for it.
func (t *connTable) warnIdle(served bool) (fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.each(func(c *tableEntry) {
		brought := c.served.Load()
		if served && !brought {
			return
		}
		if c.state.CompareAndSwap(phaseShaking, phaseEnding) {
			c.nc.SetDeadline(time.Now().Add(newConnGrace))
		}
		if c.state.CompareAndSwap(phaseIdle, phaseLast) && !brought {
			fresh = true
		}
	})
	return fresh
}

// endWarned ends the connections that warnIdle has found and that still wait for bytes, or only those of them that have had
// a turn.
func (t *connTable) endWarned(served bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.each(func(c *tableEntry) {
		if served && !c.served.Load() || !c.state.CompareAndSwap(phaseLast, phaseEnding) {
			return
		}
		if lc, ok := c.nc.(asleep); ok {
			lc.kick()
		} else {
			c.nc.SetReadDeadline(time.Unix(1, 0))
		}
	})
}

// asleep is a connection of a loop. While it waits for bytes, no goroutine does, and kick has its loop look at it.
type asleep interface{ kick() }

// closeAll closes all connections, and those that are on their way to the ring. It waits as
// long as patience for connections whose Close may block.
func (t *connTable) closeAll(patience time.Duration) {
	quick, slow := t.cutAll()
	for _, nc := range quick {
		nc.Close()
	}
	for c, nc := range slow {
		go func() {
			closeQuietly(nc)
			t.closed(c)
		}()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	unhook := context.AfterFunc(ctx, t.wake)
	defer unhook()
	t.waitUntil(ctx, func() bool { return len(t.cutting) == 0 })
}

// cutAll has no more connections added. It returns those that there are: what can be closed
// without waiting, and connections whose Close may block.
func (t *connTable) cutAll() (quick []net.Conn, slow map[*tableEntry]net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = true
	slow = map[*tableEntry]net.Conn{}
	t.each(func(c *tableEntry) {
		if socket := socketOf(c.nc); socket != nil {
			quick = append(quick, socket)
			return
		}
		if _, begun := t.cutting[c]; !begun && c.state.Load() != phaseClosing {
			slow[c] = c.nc
		}
		if t.cutting == nil {
			t.cutting = map[*tableEntry]struct{}{}
		}
		t.cutting[c] = struct{}{}
	})
	return quick, slow
}

// closed notes that the Close of c has returned. c may serve another connection by now.
func (t *connTable) closed(c *tableEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.cutting, c)
	t.ended.Broadcast()
}

// socketOf returns nc, or the connection below if nc is a TLS connection, if that is a socket
// of this process: closing it does not block. It returns nil for other types.
func socketOf(nc net.Conn) net.Conn {
	switch c := nc.(type) {
	case asleep, *net.TCPConn, *net.UnixConn:
		return nc
	case *tls.Conn:
		return socketOf(c.NetConn())
	}
	return nil
}

// closeQuietly closes nc without a close_notify, which may block.
func closeQuietly(nc net.Conn) {
	if tc, ok := nc.(secured); ok {
		closeWithoutHandshake(tc)
	} else {
		nc.Close()
	}
}

// waitEmpty waits until no connection is left, neither in the ring nor on its way to
// it, and reports false if ctx ends before that. See wake.
func (t *connTable) waitEmpty(ctx context.Context) bool {
	return t.waitUntil(ctx, func() bool { return t.open.Load() <= 0 })
}

// isCutOff reports whether no connection is left but for those whose Close blocks. t is locked.
func (t *connTable) isCutOff() bool { return int(t.open.Load()) <= len(t.cutting) }

// waitEmptyFor is waitEmpty for at most the time d.
func (t *connTable) waitEmptyFor(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	unhook := context.AfterFunc(ctx, t.wake)
	defer unhook()
	return t.waitEmpty(ctx)
}

// waitUntil waits until a connection or listener was dropped and over, which is called with
// the table locked, returns true. It reports false if ctx ends before that. See wake.
func (t *connTable) waitUntil(ctx context.Context, over func() bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !over() {
		if ctx.Err() != nil {
			return false
		}
		t.ended.Wait()
	}
	return true
}

// wake lets waitUntil look whether its ctx has ended.
func (t *connTable) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended.Broadcast()
}

// isCut reports whether closeAll was called.
func (t *connTable) isCut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut
}
