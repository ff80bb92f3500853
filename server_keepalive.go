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

// SetKeepAlivesEnabled says whether connections are kept for further requests, as they are by default. With false each
// response is the last one on its connection and says so. Connections that have had a response and wait for another request are closed,
// unless a request arrives within a few milliseconds. Connections that have brought no request yet stay for their first one. After Shutdown or
// Close it has no effect, and beside DisableKeepalive true has none.
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

// RegisterOnShutdown has f called on a goroutine of its own when Shutdown has closed the listeners. It is for connections that Shutdown does not wait
// for, such as hijacked ones: f can tell their owners to end them. Shutdown does not wait for f. Close does not call it.
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
