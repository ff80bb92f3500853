package conn

import (
	"errors"
	"net"
	"time"
)

// maxAcceptPause is how long accepting waits at most for descriptors to come back:
// short enough that nobody notices that they have, long enough to cost nothing.
const maxAcceptPause = 250 * time.Millisecond

// AcceptLoop hands the connections of a listener to workers until it fails or has come to its end.
func (s *Server) AcceptLoop(of *Listener) error {
	ln := of.Listener
	var pause time.Duration
	for {
		c, err := ln.Accept()
		if err != nil {
			if s.Table.isClosing() || isClosedListener(err) {
				return nil
			}
			if !isTemporary(err) {
				return err
			}
			// Out of descriptors or memory: wait until others have gone.
			pause = min(max(2*pause, 5*time.Millisecond), maxAcceptPause)
			s.Log.accepting(ln, pause, err)
			s.sleep(pause)
			continue
		}
		pause = 0
		if !s.serveAside(c, of) {
			s.sleep(s.set.PauseWhenFull)
		}
	}
}

// serveAside has another goroutine serve c. It reports false if there are too many connections, and c is turned away.
func (s *Server) serveAside(c net.Conn, of *Listener) bool {
	s.tune(c)
	if err := s.Admit(); err != nil {
		s.TurnAway(c, err, true)
		return false
	}
	s.Workers.run(Accepted{c, of})
	return true
}

// isTemporary reports whether accepting may work again later.
func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// sleep waits for d or until no more is to be accepted.
func (s *Server) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.Table.closingC:
	}
}

// tune sets the options of an accepted connection.
func (s *Server) tune(c net.Conn) {
	if !s.set.Keepalive {
		return
	}
	if tc, ok := c.(interface {
		SetKeepAlive(bool) error
		SetKeepAlivePeriod(time.Duration) error
	}); ok {
		if tc.SetKeepAlive(true) == nil && s.set.KeepalivePeriod > 0 {
			tc.SetKeepAlivePeriod(s.set.KeepalivePeriod)
		}
	}
}

// Admit counts a connection in, unless there are too many.
func (s *Server) Admit() error {
	if int(s.Table.Open.Add(1)) > s.set.MaxConns {
		s.Table.Leave()
		return ErrTooMany
	}
	return nil
}
