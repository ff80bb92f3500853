package gallop

import (
	"context"
	"sync"
	"sync/atomic"
)

// keepAlives is whether connections may go on after their next response. Server.stopping has what follows from it for responses.
type keepAlives struct {
	off atomic.Bool // connections that have had a response do not wait for another request

	mu    sync.Mutex
	ended bool // for good, by Shutdown or Close
}

// SetKeepAlivesEnabled turns keep-alive on or off. Keep-alive is on by default. After SetKeepAlivesEnabled(false), each
// connection is closed after its next response. An idle connection that has carried a request is closed unless the next
// request arrives within a few milliseconds. On a new connection, the server still serves the first request.
// SetKeepAlivesEnabled has no effect after Shutdown or Close. If DisableKeepalive is set, keep-alive stays off.
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
		asleep := s.conns.wakeIdle(true)
		go s.conns.kickIdle(context.Background(), asleep)
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
// can ask the code that uses hijacked connections to close the connections. Shutdown does not wait for f to return.
// Close does not call f.
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
