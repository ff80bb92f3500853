package gallop

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Shutdown shuts the server down gracefully and waits for in-flight requests without a time limit. See
// [Server.ShutdownWithContext].
func (s *Server) Shutdown() error { return s.ShutdownWithContext(context.Background()) }

// ShutdownWithContext shuts the server down gracefully in these steps:
//
//   - During the LameDuck time, the server continues to serve requests, but closes each connection after its next
//     response.
//   - The server accepts the connections that are waiting in the queues of the listeners, and then closes the
//     listeners.
//   - The server cancels the contexts of in-flight requests and closes idle connections. Clients that are still in a
//     TLS handshake have half a second to send a request.
//   - ShutdownWithContext waits until all requests have been served.
//
// If ctx is done before all requests have been served, ShutdownWithContext closes the remaining connections and returns
// the error of ctx. Handlers can still be running when ShutdownWithContext returns, and some listeners and connections
// can still be open. If a listener cannot be closed, the returned error also includes the listener's error. Hijacked
// connections stay open.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	s.prepare()
	s.endKeepAlives()
	if s.LameDuck > 0 {
		t := time.NewTimer(s.LameDuck)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	s.conns.closeListeners(ctx, acceptGrace)
	s.onShutdown.call(&s.log)
	s.away.end(ctx)
	s.stop()
	s.ending.Store(true)
	s.conns.endIdle(ctx)

	unhook := context.AfterFunc(ctx, s.conns.wake)
	defer unhook()
	if !s.conns.waitEmpty(ctx) {
		s.conns.closeAll(cutPatience)
		s.workers.drain()
		return s.conns.closeError(ctx.Err())
	}
	s.workers.drain()
	if s.conns.isServed() { // by a listener that does not notice
		s.conns.closeAll(cutPatience)
		return s.conns.closeError(ctx.Err())
	}
	return s.conns.closeError(nil)
}

// Close closes all listeners and connections at once, including connections with requests in flight. The method then
// waits until all handlers have returned, so a handler must not call Server.Close. If the close of a listener or a
// connection blocks, the server waits at most one second for it. The returned error includes the errors from closing
// listeners.
func (s *Server) Close() error {
	s.prepare()
	s.endKeepAlives()
	s.ending.Store(true)
	s.stop()
	s.closeListenersNow()
	s.conns.closeAll(closePatience)
	s.conns.waitUntil(context.Background(), s.conns.isCutOff)
	s.workers.drain()
	return s.conns.closeError(nil)
}

// closePatience is how long Close waits for listeners, and for connections whose Close blocks.
// Shutdown waits for such connections as long as cutPatience behind the end of its context.
const (
	closePatience = time.Second
	cutPatience   = 50 * time.Millisecond
)

// closeListenersNow closes the listeners, and the connections that were turned away.
func (s *Server) closeListenersNow() {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	s.conns.closeListeners(ctx, 0)
	s.away.end(ctx)
}

// endIdle ends the connections that wait for a request, unless a request arrives in time. All of them end at once when
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

// warnIdle starts the end of the connections that wait for a request, or only of those that have brought one before. A
// request that arrives before endWarned is called is served. warnIdle reports whether there were connections that have
// brought no request yet. Connections in a TLS handshake get little more time for it.
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

// endWarned ends the connections that warnIdle has found and that still wait for a request, or only those of them that
// have brought one before.
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

// asleep is a connection of a loop. While it waits for a request, no goroutine does, and kick has its loop look at it.
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

// Run serves the connections that ln accepts until ctx is done, and then shuts the server down gracefully. Run calls
// Serve, and calls ShutdownWithContext when ctx is done. Run returns when Serve and ShutdownWithContext have returned.
// Use Run with signal.NotifyContext or an errgroup.
//
// If all in-flight requests finish during the shutdown, Run returns nil. If requests are still in flight when
// ShutdownTimeout has passed, Run returns context.DeadlineExceeded. If Serve returns before ctx is done, Run returns
// the error from Serve. The server then continues to serve its other listeners.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	return s.run(ctx, func() error { return s.Serve(ln) })
}

// RunTLS does the same as Run, but over TLS. [Server.ServeTLS] describes certFile and keyFile.
func (s *Server) RunTLS(ctx context.Context, ln net.Listener, certFile, keyFile string) error {
	return s.run(ctx, func() error { return s.ServeTLS(ln, certFile, keyFile) })
}

// run calls serve, and shuts the server down when ctx ends.
func (s *Server) run(ctx context.Context, serve func() error) error {
	down := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { down <- s.shutdownInTime() })
	err := serve()
	if stop() {
		return err
	}
	if downErr := <-down; err == nil {
		err = downErr
	}
	return err
}

// shutdownInTime shuts the server down as long as LameDuck and ShutdownTimeout allow.
func (s *Server) shutdownInTime() error {
	if s.ShutdownTimeout <= 0 {
		return s.Shutdown()
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(s.LameDuck, 0)+s.ShutdownTimeout)
	defer cancel()
	return s.ShutdownWithContext(ctx)
}

// keepAlives is whether connections may go on after their next response. Server.stopping has what follows from it for responses.
type keepAlives struct {
	off atomic.Bool // connections that have had a response do not wait for another request

	mu    sync.Mutex
	ended bool // for good, by Shutdown or Close
}

// SetKeepAlivesEnabled turns keep-alive on or off. Keep-alive is on by default. After SetKeepAlivesEnabled(false), each
// connection is closed after its next response. An idle connection that has carried a request is closed unless the next
// request arrives within a few milliseconds. A connection that has not carried a request yet stays open for its first
// request. SetKeepAlivesEnabled has no effect after Shutdown or Close. If Server.DisableKeepalive is set, keep-alive is
// always off.
func (s *Server) SetKeepAlivesEnabled(enabled bool) {
	k := &s.keepAlives
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return
	}
	s.stopping.Store(!enabled)
	k.off.Store(!enabled)
	if !enabled {
		s.conns.warnIdle(true)
		time.AfterFunc(idleGrace, func() { s.conns.endWarned(true) })
	}
}

func (s *Server) endKeepAlives() {
	k := &s.keepAlives
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	s.stopping.Store(true)
}

// onShutdown has the functions that Shutdown calls.
type onShutdown struct {
	mu sync.Mutex
	fs []func()
}

// RegisterOnShutdown registers the function f. Shutdown calls f on a separate goroutine after closing the listeners.
// Use RegisterOnShutdown for connections that Shutdown does not wait for, such as hijacked connections. For example, f
// can tell the users of hijacked connections to close them. Shutdown does not wait for f to return. Close does not call
// f.
func (s *Server) RegisterOnShutdown(f func()) {
	o := &s.onShutdown
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fs = append(o.fs, f)
}

// call calls the functions. If one panics, that is logged.
func (o *onShutdown) call(log *limitedLog) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.fs {
		go func() {
			defer func() {
				if v := recover(); v != nil {
					log.panicked(nil, 0, "panic in a function that RegisterOnShutdown was given", v)
				}
			}()
			f()
		}()
	}
}
