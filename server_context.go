package gallop

import (
	"context"
	"net"
)

// connContext is what the contexts of a connection's requests descend from.
type connContext struct {
	base context.Context
	own  context.Context // nil before the first request
}

// baseContext returns the context for the connections of a listener, nil if the server has no contexts for connections.
func (s *Server) baseContext(ln net.Listener) context.Context {
	switch {
	case s.BaseContext != nil:
		ctx := s.BaseContext(ln)
		if ctx == nil {
			panic("gallop: BaseContext returned nil")
		}
		return ctx
	case s.ConnContext != nil:
		return context.Background()
	}
	return nil
}

// newConnContext returns the context of a new connection, nil if it has none. The connection is from a listener, or, if that is nil,
// ServeConn was given it.
func (s *Server) newConnContext(of *servedListener) *connContext {
	switch {
	case of != nil && of.base != nil:
		return &connContext{base: of.base}
	case s.ConnContext != nil:
		return &connContext{base: context.Background()}
	}
	return nil
}

// forRequest returns the context that the present request's descends from.
func (cc *connContext) forRequest(c *serverConn) context.Context {
	if cc.own == nil {
		cc.own = cc.base
		if f := c.srv.ConnContext; f != nil {
			if cc.own = f(cc.base, c.nc); cc.own == nil {
				panic("gallop: ConnContext returned nil")
			}
		}
	}
	return cc.own
}
