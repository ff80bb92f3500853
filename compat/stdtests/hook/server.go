//go:build overlaid

package hook

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

func hookServer() {
	http.Hooked.ServerServe = func(s *http.Server, ln net.Listener) (error, bool) {
		if isHTTP2Server(s) {
			return nil, false
		}
		return serverOf(s).serve(ln, func(g *gallop.Server) error { return g.Serve(ln) }), true
	}
	http.Hooked.ServerServeTLS = func(s *http.Server, ln net.Listener, certFile, keyFile string) (error, bool) {
		if isHTTP2Server(s) {
			return nil, false
		}
		return serverOf(s).serve(ln, func(g *gallop.Server) error { return g.ServeTLS(ln, certFile, keyFile) }), true
	}
	http.Hooked.ServerClose = func(s *http.Server) (error, bool) {
		if isHTTP2Server(s) {
			return nil, false
		}
		s.HookedStop()
		return serverOf(s).g.Close(), true
	}
	http.Hooked.ServerShutdown = func(s *http.Server, ctx context.Context) (error, bool) {
		if isHTTP2Server(s) {
			return nil, false
		}
		s.HookedStop()
		return serverOf(s).g.ShutdownWithContext(ctx), true
	}
	http.Hooked.ServerSetKeepAlivesEnabled = func(s *http.Server, enabled bool) bool {
		if isHTTP2Server(s) {
			return false
		}
		serverOf(s).g.SetKeepAlivesEnabled(enabled)
		return true
	}
	http.Hooked.ServerRegisterOnShutdown = func(s *http.Server, f func()) bool {
		if isHTTP2Server(s) {
			return false
		}
		serverOf(s).g.RegisterOnShutdown(f)
		return true
	}
}

func isHTTP2Server(s *http.Server) bool { return wantsHTTP2(s.TLSNextProto["h2"] != nil, s.Protocols) }

// server serves in the place of an http.Server.
type server struct {
	std   *http.Server
	g     *gallop.Server
	setUp sync.Once
	left  atomic.Bool // Serve has returned
}

var servers sync.Map // *server by *http.Server

func serverOf(s *http.Server) *server {
	if v, ok := servers.Load(s); ok {
		return v.(*server)
	}
	var options []nethttp.Option
	if s.DisableGeneralOptionsHandler {
		options = append(options, nethttp.DisableGeneralOptionsHandler())
	}
	made := &server{std: s, g: nethttp.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := s.Handler
		if h == nil {
			h = http.DefaultServeMux
		}
		h.ServeHTTP(w, r)
	}), options...)}
	v, _ := servers.LoadOrStore(s, made)
	return v.(*server)
}

// serve returns the errors of http.Server.Serve: ErrServerClosed where gallop returns nil. 0006-nethttp.md describes
// the difference.
func (s *server) serve(ln net.Listener, serve func(*gallop.Server) error) error {
	used()
	s.setUp.Do(s.copyFields)
	s.std.HookedServing(ln)
	err := serve(s.g)
	s.left.Store(true)
	go s.closeIfUnused()
	if err == nil {
		return http.ErrServerClosed
	}
	return err
}

func (s *server) copyFields() {
	g, std := s.g, s.std
	g.ReadTimeout, g.ReadHeaderTimeout = std.ReadTimeout, std.ReadHeaderTimeout
	g.WriteTimeout, g.IdleTimeout = std.WriteTimeout, std.IdleTimeout
	g.MaxHeaderBytes = std.MaxHeaderBytes
	g.MaxIdleWorkerDuration = time.Millisecond // many tests look for leaked goroutines
	g.BaseContext, g.ConnContext = std.BaseContext, std.ConnContext
	if std.ErrorLog != nil {
		g.Logger = std.ErrorLog
	}
	if std.TLSConfig != nil {
		g.TLSConfig = std.TLSConfig
	}
	g.ConnState = s.connState
	g.Protocols = protocolsOf(std)
}

// protocolsOf returns the protocols of a server, which may not have HTTP/2, or nil.
func protocolsOf(s *http.Server) *gallop.Protocols {
	var p gallop.Protocols
	switch {
	case s.Protocols != nil:
		p.SetHTTP1(s.Protocols.HTTP1())
	case s.TLSNextProto != nil:
		p.SetHTTP1(true)
	default:
		return nil
	}
	return &p
}

func (s *server) connState(c net.Conn, state gallop.ConnState) {
	if s.std.ConnState != nil {
		s.std.ConnState(c, http.ConnState(state))
	}
	if s.left.Load() && (state == gallop.StateClosed || state == gallop.StateHijacked) {
		go s.closeIfUnused()
	}
}

// closeIfUnused ends the goroutines of a server without connections that is never closed, because
// httptest.Server.Close only closes the listener and the connections. It must not sleep, because the time may be
// synctest's.
func (s *server) closeIfUnused() {
	for range 10000 { // a connection still counts for a moment after its last state
		if s.g.GetOpenConnectionsCount() == 0 {
			s.g.Close()
			return
		}
		runtime.Gosched()
	}
}
