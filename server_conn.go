package gallop

import (
	"net"
)

// serveAccepted serves a connection from a listener and logs how it ended.
func (s *Server) serveAccepted(c acceptedConn) {
	id, err := s.serveConn(c.Conn, c.of)
	s.logEnd(c.Conn, id, err)
}

// logEnd logs why a connection ended, unless that was already logged or is routine.
func (s *Server) logEnd(nc net.Conn, id uint64, err error) {
	if _, answered := err.(answeredError); err != nil && !answered && err != errPanic && err != ErrAbortHandler && err != ErrPerIPConnLimit {
		s.conns.log.connection(nc.RemoteAddr(), id, err, s.LogAllErrors || isProgramsFault(err))
	}
}

// serveConn serves nc, which admit has counted, until it ends. It is from a listener, or, if that is nil, ServeConn was given it.
// The id is that of the connection.
func (s *Server) serveConn(nc net.Conn, of *servedListener) (id uint64, err error) {
	c := s.acquireConn()
	c.start(&s.conns, c, nc, of)
	id = c.id
	if err := s.conns.table.add(c.entry); err != nil {
		s.conns.table.leave()
		if err == ErrPerIPConnLimit {
			s.conns.turnAway(nc, err, false)
		} else {
			nc.Close()
		}
		return id, err
	}
	ended, hijacked := false, false
	defer func() {
		if v := recover(); v != nil { // in a hook: handlers are looked after
			s.conns.log.panicked(nc.RemoteAddr(), id, "panic ends a connection", v)
			err = errPanic
		}
	}()
	defer func() {
		defer s.retire(c, ended) // nothing is left when Shutdown sees it gone
		defer func() {
			if !hijacked && !c.hijacked {
				c.entry.state.Store(phaseClosing)
				c.closing().Close()
				c.report(connClosed)
			}
		}()
		c.release()
	}()
	c.report(connNew)
	proto, err := c.handshake()
	if err != nil {
		answerPlainHTTP(err)
		return id, err
	}
	if serve := s.protos[proto]; serve != nil && c.tls != nil {
		return id, serve(nc)
	}
	c.ready = c.now
	if c.serve() != nextTaken {
		ended = true
		return id, c.err
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
	s.conns.table.drop(c.entry)
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
		c.output.flush() // answers to requests before the one that has ended the connection
	}
	c.input.release()
	c.output.release()
	c.publish()
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
