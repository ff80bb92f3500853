package gallop

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
)

// Shutdown shuts the server down gracefully and waits for in-flight requests without a time limit. See
// [Server.ShutdownWithContext].
func (s *Server) Shutdown() error { return s.ShutdownWithContext(context.Background()) }

// ShutdownWithContext shuts the server down gracefully in these steps:
//
//   - During the LameDuck time, the server continues to serve requests, but closes each connection after its next
//     response. An HTTP/2 client gets a GOAWAY frame at once, and its connection ends when all open streams have ended.
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
	s.h2.shutDown()
	s.conns.Table.CloseListeners(ctx, conn.AcceptGrace)
	s.onShutdown.call(&s.conns.Log)
	s.conns.Away.End(ctx)
	s.conns.Stop()
	s.conns.Ending.Store(true)
	s.conns.Table.EndIdle(ctx)

	unhook := context.AfterFunc(ctx, s.conns.Table.Wake)
	defer unhook()
	if !s.conns.Table.WaitEmpty(ctx) {
		s.conns.Table.CloseAll(conn.CutPatience)
		s.conns.Workers.Drain()
		return s.conns.Table.CloseError(ctx.Err())
	}
	s.conns.Workers.Drain()
	if s.conns.Table.IsServed() { // by a listener that does not notice
		s.conns.Table.CloseAll(conn.CutPatience)
		return s.conns.Table.CloseError(ctx.Err())
	}
	return s.conns.Table.CloseError(nil)
}

// Close closes all listeners and connections at once, including connections with requests in flight. The method then
// waits until all handlers have returned, so a handler must not call Server.Close. If the close of a listener or a
// connection blocks, the server waits at most one second for it. The returned error includes the errors from closing
// listeners.
func (s *Server) Close() error {
	s.prepare()
	s.endKeepAlives()
	s.h2.shutDown()
	s.conns.Ending.Store(true)
	s.conns.Stop()
	s.closeListenersNow()
	s.conns.Table.CloseAll(conn.ClosePatience)
	s.conns.Table.WaitUntil(context.Background(), s.conns.Table.IsCutOff)
	s.conns.Workers.Drain()
	return s.conns.Table.CloseError(nil)
}

// closeListenersNow closes the listeners, and the connections that were turned away.
func (s *Server) closeListenersNow() {
	ctx, cancel := context.WithTimeout(context.Background(), conn.ClosePatience)
	defer cancel()
	s.conns.Table.CloseListeners(ctx, 0)
	s.conns.Away.End(ctx)
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

// keepAlives decides whether connections may go on after their next response.
type keepAlives struct {
	mu    sync.Mutex
	ended bool // for good, by Shutdown or Close
}

// SetKeepAlivesEnabled turns keep-alive on or off. Keep-alive is on by default. After SetKeepAlivesEnabled(false), each
// connection is closed after its next response. An idle connection that has carried a request is closed unless the next
// request arrives within a few milliseconds. A connection that has not carried a request yet stays open for its first
// request. An HTTP/2 connection is closed when it has no open streams. SetKeepAlivesEnabled has no effect after Shutdown
// or Close. If Server.DisableKeepalive is set, keep-alive is always off.
func (s *Server) SetKeepAlivesEnabled(enabled bool) {
	k := &s.keepAlives
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return
	}
	s.conns.Stopping.Store(!enabled)
	s.conns.NoIdle.Store(!enabled)
	if !enabled {
		s.h2.shutDownIdle()
		s.conns.Table.WarnIdle(true)
		time.AfterFunc(conn.IdleGrace, func() { s.conns.Table.EndWarned(true) })
	}
}

func (s *Server) endKeepAlives() {
	k := &s.keepAlives
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	s.conns.Stopping.Store(true)
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
func (o *onShutdown) call(log *conn.Log) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.fs {
		go func() {
			defer func() {
				if v := recover(); v != nil {
					log.Panicked(nil, 0, "panic in a function that RegisterOnShutdown was given", v)
				}
			}()
			f()
		}()
	}
}
