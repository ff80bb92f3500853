package gallop

import (
	"errors"
	"net"
	"time"
)

// maxAcceptPause is how long accepting waits at most for descriptors to come back:
// short enough that nobody notices that they have, long enough to cost nothing.
const maxAcceptPause = 250 * time.Millisecond

// acceptLoop hands the connections of a listener to workers until it fails or has come to its end.
func (s *connServer) acceptLoop(of *servedListener) error {
	ln := of.Listener
	var pause time.Duration
	for {
		c, err := ln.Accept()
		if err != nil {
			if s.table.isClosing() || isClosedListener(err) {
				return nil
			}
			if !isTemporary(err) {
				return err
			}
			// Out of descriptors or memory: wait until others have gone.
			pause = min(max(2*pause, 5*time.Millisecond), maxAcceptPause)
			s.log.accepting(ln, pause, err)
			s.sleep(pause)
			continue
		}
		pause = 0
		s.tune(c)
		if err := s.admit(); err != nil {
			s.turnAway(c, err, true)
			s.sleep(s.set.pauseWhenFull)
			continue
		}
		s.workers.run(acceptedConn{c, of})
	}
}

// isTemporary reports whether accepting may work again later.
func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// sleep waits for d or until no more is to be accepted.
func (s *connServer) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.table.closingC:
	}
}

// tune sets the options of an accepted connection.
func (s *connServer) tune(c net.Conn) {
	if !s.set.keepalive {
		return
	}
	if tc, ok := c.(interface {
		SetKeepAlive(bool) error
		SetKeepAlivePeriod(time.Duration) error
	}); ok {
		if tc.SetKeepAlive(true) == nil && s.set.keepalivePer > 0 {
			tc.SetKeepAlivePeriod(s.set.keepalivePer)
		}
	}
}

// admit counts a connection in, unless there are too many.
func (s *connServer) admit() error {
	if int(s.table.open.Add(1)) > s.set.maxConns {
		s.table.leave()
		return errTooMany
	}
	return nil
}
