package gallop

import (
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/poll"
)

// closedListenerWatch notices when the program closes a listener. The loops cannot notice it: a closed descriptor
// leaves an epoll without an event. Package net wakes goroutines that wait in Accept, so the watch runs one. If this
// goroutine accepts a connection before a loop does, it hands the connection to the loops.
type closedListenerWatch struct {
	ln      net.Listener
	pl      *poll.Listener
	closing <-chan struct{} // the server's
	closed  chan struct{}   // closed when ln is
	ended   chan struct{}   // closed when the watch ends
}

const (
	// acceptRarely is how long the watch does not wait in Accept after each call of it, so that loops accept nearly all
	// connections.
	acceptRarely = 5 * time.Millisecond

	// closedListenerCheck is how often a listener is looked at while nobody may accept from it.
	closedListenerCheck = 50 * time.Millisecond
)

func (s *Server) watchListener(ln net.Listener, pl *poll.Listener) *closedListenerWatch {
	w := &closedListenerWatch{ln, pl, s.conns.closingC, make(chan struct{}), make(chan struct{})}
	if s.loops.kernel != nil {
		go w.check()
	} else {
		go w.accept()
	}
	return w
}

// end ends the watch of a listener of a server that is closing.
func (w *closedListenerWatch) end() {
	if d, ok := w.ln.(interface{ SetDeadline(time.Time) error }); ok {
		_ = d.SetDeadline(time.Unix(1, 0))
	}
	<-w.ended
}

// check looks again and again, for listeners that have no Accept.
func (w *closedListenerWatch) check() {
	defer close(w.ended)
	for w.pause(closedListenerCheck) {
		if w.pl.Err() != nil {
			close(w.closed)
			return
		}
	}
}

// accept waits in Accept.
func (w *closedListenerWatch) accept() {
	defer close(w.ended)
	for {
		rest := acceptRarely
		if nc, err := w.ln.Accept(); err == nil {
			w.handOver(nc)
		} else if errors.Is(err, net.ErrClosed) {
			close(w.closed)
			return
		} else {
			rest = closedListenerCheck
		}
		for ok := false; !ok || w.pl.Rests() && w.pl.Err() == nil; rest = closedListenerCheck {
			if ok = w.pause(rest); !ok {
				return
			}
		}
	}
}

// pause reports false if the server is closing.
func (w *closedListenerWatch) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-w.closing:
		return false
	case <-t.C:
		return true
	}
}

// handOver gives a connection to the loops, without what package net knows of it.
func (w *closedListenerWatch) handOver(nc net.Conn) {
	defer nc.Close()
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	own := -1
	_ = raw.Control(func(fd uintptr) {
		if n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0); errno == 0 {
			own = int(n)
		}
	})
	if own >= 0 {
		w.pl.Take(own)
	}
}
