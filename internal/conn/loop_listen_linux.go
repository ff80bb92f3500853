package conn

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/poll"
)

// ServeOnLoops serves the connections that a listener accepts on the loops, if that is possible.
func (s *Server) ServeOnLoops(of *Listener, by poll.Handler) (served bool, err error) {
	ln := of.Listener
	below := ln
	if tl, ok := ln.(*TLSListener); ok {
		below = tl.Listener
	}
	raw := s.Loops.rawListener(below)
	if raw == nil {
		return false, nil
	}
	g, err := s.Loops.Enter(by, s.Workers.idle)
	if err != nil {
		s.Log.printf("no event loops, goroutines serve instead: %v", err)
		return false, nil
	}
	defer g.Leave()
	tune := s.tuneListener(below, raw)
	var pl *poll.Listener
	of.watch(func() func() {
		if pl, err = g.Listen(raw, of, tune); err != nil {
			return nil
		}
		return pl.Silence
	})
	switch {
	case err == nil:
	case s.Table.isClosing(), isClosedListener(err):
		return true, nil
	default:
		return true, failedListener(ln, err)
	}
	defer pl.End()
	watch := s.watchListener(of, below, raw, pl)
	select {
	case <-s.Table.closingC:
		watch.end()
		done := make(chan struct{})
		g.Hand(func(w *poll.Worker) {
			defer close(done)
			for left, n := maxQueued, 1; n > 0; left -= n {
				n = pl.Accept(w, left)
			}
		})
		<-done
		return true, nil
	case <-watch.closed:
		return true, nil
	}
}

// maxQueued is how many connections that wait in a listener's queue are accepted at the end.
const maxQueued = 256 << 10

func failedListener(ln net.Listener, err error) error {
	return &net.OpError{Op: "accept", Net: ln.Addr().Network(), Addr: ln.Addr(), Err: err}
}

// rawListener returns the socket of ln, nil if there is none or something around it.
func (lg *LoopGroup) rawListener(ln net.Listener) (raw syscall.RawConn) {
	if lg.kernel != nil {
		raw, _ = ln.(syscall.Conn).SyscallConn()
		return raw
	}
	switch ln := ln.(type) {
	case *net.TCPListener:
		raw, _ = ln.SyscallConn()
	case *net.UnixListener:
		raw, _ = ln.SyscallConn()
	}
	return raw
}

// tuneListener sets options that connections inherit when they are made, and returns what sets them for those that
// are waiting in ln's queue already.
func (s *Server) tuneListener(ln net.Listener, raw syscall.RawConn) func(fd int) {
	if _, ok := ln.(*net.TCPListener); !ok {
		return nil
	}
	_ = raw.Control(func(fd uintptr) { s.tuneSocket(int(fd)) })
	return s.tuneSocket
}

func (s *Server) tuneSocket(fd int) {
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1)
	if period := s.set.KeepalivePeriod; s.set.Keepalive && period > 0 {
		seconds := int(min((period-1)/time.Second+1, maxKeepIdle))
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, seconds)
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, seconds)
	}
}

// maxKeepIdle is the longest time, in seconds, between probes that Linux takes.
const maxKeepIdle = 32767

// closedListenerWatch notices when the program closes a listener. The loops cannot notice it: a closed descriptor
// leaves an epoll without an event. Package net wakes goroutines that wait in Accept, so the watch runs one. If this
// goroutine accepts a connection before a loop does, it hands the connection to the loops.
type closedListenerWatch struct {
	s       *Server
	of      *Listener
	ln      net.Listener // that of of, or what is below its TLS
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

func (s *Server) watchListener(of *Listener, ln net.Listener, raw syscall.RawConn, pl *poll.Listener) *closedListenerWatch {
	w := &closedListenerWatch{s, of, ln, pl, s.Table.closingC, make(chan struct{}), make(chan struct{})}
	if s.Loops.kernel != nil {
		go w.waitFor(raw.(simulatedListener).Closed())
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

// simulatedListener is a listener of a simulated kernel, which has no Accept.
type simulatedListener interface {
	Closed() <-chan struct{} // closed when the listener is
}

// waitFor waits until a listener without Accept is closed.
func (w *closedListenerWatch) waitFor(closed <-chan struct{}) {
	defer close(w.ended)
	select {
	case <-w.closing:
	case <-closed:
		close(w.closed)
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

// handOver gives a connection to the loops, without what package net knows of it. That takes another descriptor for a moment. If
// the process may have no more, a goroutine serves the connection instead.
func (w *closedListenerWatch) handOver(nc net.Conn) {
	if own := duplicate(nc); own >= 0 {
		nc.Close()
		w.pl.Take(own)
		return
	}
	if secure, ok := w.of.Listener.(*TLSListener); ok {
		nc = tls.Server(nc, secure.Config)
	}
	w.s.serveAside(nc, w.of)
}

// duplicate returns another descriptor of a connection, or -1 if the process may have no more.
func duplicate(nc net.Conn) (own int) {
	own = -1
	if raw, err := nc.(syscall.Conn).SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			if n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0); errno == 0 {
				own = int(n)
			}
		})
	}
	return own
}
