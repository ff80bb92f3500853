package gallop

import (
	"net"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
)

// connection is the part of a serverConn that does not depend on HTTP: the socket, its place in the connection table
// and on a loop, buffers and times.
type connection struct {
	srv   *Server
	set   *settings
	nc    net.Conn
	tls   secured // nc, if that is one
	entry *tableEntry
	own   tableEntry // entry, if a goroutine serves the connection to its end
	loop  loopSeat   // what there is else if it does not

	input  input
	output output

	id      uint64
	counted int64     // of the requests, those that the server's counts do not have yet
	since   time.Time // when the connection began, see begun
	ready   time.Time // when it could bring its first request
	now     time.Time // when the last bytes arrived
	lent    bool      // ServeConn was given the connection

	clock clock.Watch // for readClock
}

// connPhase is what Shutdown has to know of a connection.
type connPhase = int32

const (
	phaseActive  connPhase = iota
	phaseIdle              // waits for the first byte of a request
	phaseLast              // the same, but for a moment longer, see connTable.warnIdle
	phaseShaking           // in a TLS handshake
	phaseEnding            // has to end: no time is left to wait for a request, or little for the handshake
	phaseClosing           // its Close was called
)

// serveAccepted serves a connection from a listener and logs how it ended.
func (s *Server) serveAccepted(c acceptedConn) {
	id, err := s.serveConn(c.Conn, c.of)
	s.logEnd(c.Conn, id, err)
}

// logEnd logs why a connection ended, unless that was already logged or is routine.
func (s *Server) logEnd(nc net.Conn, id uint64, err error) {
	if _, answered := err.(answeredError); err != nil && !answered && err != errPanic && err != ErrAbortHandler && err != ErrPerIPConnLimit {
		s.log.connection(nc.RemoteAddr(), id, err, s.LogAllErrors)
	}
}

// serveConn serves nc, which admit has counted, until it ends. It is from a listener, or, if that is nil, ServeConn was given it.
// The id is that of the connection.
func (s *Server) serveConn(nc net.Conn, of *servedListener) (id uint64, err error) {
	c := s.acquireConn()
	c.lent = of == nil
	id = s.connIDs.Add(1)
	c.srv, c.set, c.nc, c.id = s, &s.set, nc, id
	c.readClock()
	c.since = c.now
	c.input.init(c)
	c.output.c = c
	c.entry, c.own.nc, c.own.context = &c.own, nc, s.newConnContext(of)
	if err := s.conns.add(c.entry); err != nil {
		s.conns.leave()
		if err == ErrPerIPConnLimit {
			s.turnAway(nc, StatusTooManyRequests, err, false)
		} else {
			nc.Close()
		}
		return id, err
	}
	ended, hijacked := false, false
	defer func() {
		if v := recover(); v != nil { // in a hook: handlers are looked after
			s.log.panicked(nc.RemoteAddr(), id, "panic ends a connection", v)
			err = errPanic
		}
	}()
	defer func() {
		defer s.retire(c, ended) // nothing is left when Shutdown sees it gone
		defer func() {
			if !hijacked && !c.hijacked {
				c.entry.state.Store(phaseClosing)
				c.closing().Close()
				c.report(StateClosed)
			}
		}()
		c.release()
	}()
	c.report(StateNew)
	if next, err := c.handshake(); next != nil || err != nil {
		if next != nil {
			return id, next(nc)
		}
		return id, err
	}
	c.ready = c.now
	if c.serve() != nextHijacked {
		ended = true
		return id, c.err
	}
	if hijacked = true; c.handed != nil {
		c.startHijack(c.handed)
	}
	return id, nil
}

func (s *Server) acquireConn() *serverConn {
	if c, ok := s.retired.Get().(*serverConn); ok {
		return c
	}
	return new(serverConn)
}

// retire takes c off the books. One that has ended as it should and that nobody
// else can know of serves another connection.
func (s *Server) retire(c *serverConn, ended bool) {
	s.conns.drop(c.entry)
	if ended && !c.shared {
		*c = serverConn{}
		s.retired.Put(c)
	}
}

func (c *connection) report(state ConnState) {
	if c.srv.ConnState != nil {
		c.srv.ConnState(c.nc, state)
	}
}

// readClock sets now, and returns it.
func (c *connection) readClock() time.Time {
	c.now = c.clock.Now()
	return c.now
}

// begin makes a connection active that has waited for a request. It reports false if its time to wait is over.
func (c *tableEntry) begin() bool {
	return c.state.CompareAndSwap(phaseIdle, phaseActive) || c.state.CompareAndSwap(phaseLast, phaseActive)
}

// outrun makes a connection active whose time to wait was over when a request arrived.
func (c *connection) outrun() {
	c.srv.conns.isClosing() // waits for endWarned, which is waking the connection
	c.entry.state.Store(phaseActive)
	if c.loop.conn == nil {
		c.input.deadline = time.Time{}
		c.nc.SetReadDeadline(time.Time{})
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

// putBuffer gives a buffer back to the pool.
func putBuffer(b *[]byte) {
	bufpool.Put(*b)
	*b = nil
}
