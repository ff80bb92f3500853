package conn

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// ClosePatience is how long Close waits for listeners, and for connections whose Close blocks.
// Shutdown waits for such connections as long as CutPatience behind the end of its context.
const (
	ClosePatience = time.Second
	CutPatience   = 50 * time.Millisecond
)

// EndIdle ends the connections that wait for bytes, unless some arrive in time. All of them end at once when
// their time is over. EndIdle returns when they have been told so, when no connection is left, or when ctx ends.
func (t *Table) EndIdle(ctx context.Context) {
	fresh := t.WarnIdle(false)
	if t.waitEmptyFor(ctx, IdleGrace) || ctx.Err() != nil {
		return
	}
	t.EndWarned(true)
	if fresh && !t.waitEmptyFor(ctx, newConnGrace-IdleGrace) && ctx.Err() == nil {
		t.EndWarned(false)
	}
}

// WarnIdle starts the end of the connections that wait for bytes, or only of those that have had a turn. Bytes that arrive
// before EndWarned is called are served. WarnIdle reports whether there were connections that have brought nothing yet.
// Connections in a TLS handshake get little more time for it.
func (t *Table) WarnIdle(served bool) (fresh bool) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.each(func(c *Entry) {
		brought := c.marks.Load()&markServed != 0
		if served && !brought {
			return
		}
		if c.move(phaseShaking, phaseEnding) {
			c.NC.SetDeadline(time.Now().Add(newConnGrace))
		}
		if c.move(phaseIdle, phaseLast) && !brought {
			fresh = true
		}
	})
	return fresh
}

// EndWarned ends the connections that WarnIdle has found and that still wait for bytes, or only those of them that have had
// a turn.
func (t *Table) EndWarned(served bool) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.each(func(c *Entry) {
		if served && c.marks.Load()&markServed == 0 || !c.move(phaseLast, phaseEnding) {
			return
		}
		if lc, ok := c.NC.(asleep); ok {
			lc.kick()
		} else {
			c.NC.SetReadDeadline(time.Unix(1, 0))
		}
	})
}

// asleep is a connection of a loop. While it waits for bytes, no goroutine does, and kick has its loop look at it.
type asleep interface{ kick() }

// CloseAll closes all connections, and those that are on their way to the ring. It waits as
// long as patience for connections whose Close may block.
func (t *Table) CloseAll(patience time.Duration) {
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
	unhook := context.AfterFunc(ctx, t.Wake)
	defer unhook()
	t.WaitUntil(ctx, func() bool { return len(t.cutting) == 0 })
}

// cutAll has no more connections added. It returns those that there are: what can be closed
// without waiting, and connections whose Close may block.
func (t *Table) cutAll() (quick []net.Conn, slow map[*Entry]net.Conn) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.cut = true
	slow = map[*Entry]net.Conn{}
	t.each(func(c *Entry) {
		if socket := socketOf(c.NC); socket != nil {
			quick = append(quick, socket)
			return
		}
		if _, begun := t.cutting[c]; !begun && !c.is(phaseClosing) {
			slow[c] = c.NC
		}
		if t.cutting == nil {
			t.cutting = map[*Entry]struct{}{}
		}
		t.cutting[c] = struct{}{}
	})
	return quick, slow
}

// closed notes that the Close of c has returned. c may serve another connection by now.
func (t *Table) closed(c *Entry) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
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

// WaitEmpty waits until no connection is left, neither in the ring nor on its way to
// it, and reports false if ctx ends before that. See wake.
func (t *Table) WaitEmpty(ctx context.Context) bool {
	return t.WaitUntil(ctx, func() bool { return t.Open.Load() <= 0 })
}

// IsCutOff reports whether no connection is left but for those whose Close blocks. t is locked.
func (t *Table) IsCutOff() bool { return int(t.Open.Load()) <= len(t.cutting) }

// waitEmptyFor is WaitEmpty for at most the time d.
func (t *Table) waitEmptyFor(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	unhook := context.AfterFunc(ctx, t.Wake)
	defer unhook()
	return t.WaitEmpty(ctx)
}

// WaitUntil waits until a connection or listener was dropped and over, which is called with
// the table locked, returns true. It reports false if ctx ends before that. See wake.
func (t *Table) WaitUntil(ctx context.Context, over func() bool) bool {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	for !over() {
		if ctx.Err() != nil {
			return false
		}
		t.ended.Wait()
	}
	return true
}

// Wake lets WaitUntil look whether its ctx has ended.
func (t *Table) Wake() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.ended.Broadcast()
}

// isCut reports whether CloseAll was called.
func (t *Table) isCut() bool {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return t.cut
}
