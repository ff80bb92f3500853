package gallop

import (
	"sync"
)

// keepAlives is whether connections may go on after their next response. Server.stopping has what follows from it.
type keepAlives struct {
	mu    sync.Mutex
	ended bool // for good, by Shutdown or Close
}

// SetKeepAlivesEnabled says whether connections are kept for further requests, as they are by default. With false each
// response is the last one on its connection and says so. An idle connection is not closed, because a request may be on its way:
// it has one more response, or ends with IdleTimeout. After Shutdown or Close it has no effect, and beside DisableKeepalive true
// has none.
func (s *Server) SetKeepAlivesEnabled(enabled bool) {
	k := &s.keepAlives
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.ended {
		s.stopping.Store(!enabled)
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
