package gallop

import (
	"net"

	"github.com/gallop-http/gallop/internal/conn"
)

// serveAccepted serves a connection from a listener and logs how it ended.
func (s *Server) serveAccepted(c conn.Accepted) {
	id, err := s.serveConn(c.Conn, c.From)
	s.logEnd(c.Conn, id, err)
}

// logEnd logs why a connection ended, unless that was already logged or is routine.
func (s *Server) logEnd(nc net.Conn, id uint64, err error) {
	if _, answered := err.(answeredError); err != nil && !answered && err != errPanic && err != ErrAbortHandler && err != ErrPerIPConnLimit {
		s.conns.Log.Connection(nc.RemoteAddr(), id, err, s.LogAllErrors || isProgramsFault(err))
	}
}

// serveConn serves nc, which admit has counted, until it ends. It is from a listener, or, if that is nil, ServeConn was given it.
// The id is that of the connection.
func (s *Server) serveConn(nc net.Conn, of *conn.Listener) (id uint64, err error) {
	c := s.acquireConn()
	c.Start(&s.conns, c, nc, of)
	id = c.ID
	if err := s.conns.Table.Add(c.Entry); err != nil {
		s.conns.Table.Leave()
		if err == ErrPerIPConnLimit {
			s.conns.TurnAway(nc, err, false)
		} else {
			nc.Close()
		}
		return id, err
	}
	ended, hijacked := false, false
	defer func() {
		if v := recover(); v != nil { // in a hook: handlers are looked after
			s.conns.Log.Panicked(nc.RemoteAddr(), id, "panic ends a connection", v)
			err = errPanic
		}
	}()
	defer func() {
		defer s.retire(c, ended) // nothing is left when Shutdown sees it gone
		defer func() {
			if !hijacked && !c.hijacked {
				c.Entry.State.Store(conn.PhaseClosing)
				c.Closing().Close()
				c.Report(conn.StateClosed)
			}
		}()
		c.release()
	}()
	c.Report(conn.StateNew)
	proto, err := c.Handshake()
	if err != nil {
		answerPlainHTTP(err)
		return id, err
	}
	if serve := s.protos[proto]; serve != nil && c.TLS != nil {
		return id, serve(nc)
	}
	c.Ready = c.Now
	if c.serve() != conn.Taken {
		ended = true
		return id, c.Err
	}
	if hijacked = true; c.handed != nil {
		c.startHijack(c.handed)
	}
	return id, nil
}

func (s *Server) acquireConn() *serverConn {
	c, ok := s.retired.Get().(*serverConn)
	if !ok {
		c = new(serverConn)
	}
	c.srv, c.set = s, &s.set
	return c
}

// retire takes c off the books. One that has ended as it should and that nobody
// else can know of serves another connection.
func (s *Server) retire(c *serverConn, ended bool) {
	s.conns.Table.Drop(c.Entry)
	if ended && !c.shared {
		*c = serverConn{}
		s.retired.Put(c)
	}
}

// release gives back what the connection holds.
func (c *serverConn) release() {
	if c.exchange != nil {
		c.releaseExchange()
	}
	if !c.hijacked {
		c.Output.Flush() // answers to requests before the one that has ended the connection
	}
	c.Input.Release()
	c.Output.Release()
	c.Publish()
}

// Idle implements wire.
func (c *serverConn) Idle() {
	if c.exchange != nil {
		c.dropExchange()
	}
}

// Lost implements wire.
func (c *serverConn) Lost() {
	if c.exchange != nil {
		c.ctx.life.lost()
	}
}
