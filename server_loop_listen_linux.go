package gallop

import (
	"net"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/internal/poll"
)

// serveOnLoops serves the connections that a listener accepts on the loops, if that is possible.
func (s *Server) serveOnLoops(of *servedListener) (served bool, err error) {
	ln := of.Listener
	below := ln
	if tl, ok := ln.(*tlsListener); ok {
		below = tl.Listener
	}
	raw := s.loops.rawListener(below)
	if raw == nil {
		return false, nil
	}
	g, err := s.loops.enter(s)
	if err != nil {
		s.log.printf("no event loops, goroutines serve instead: %v", err)
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
	case s.conns.isClosing(), isClosedListener(err):
		return true, nil
	default:
		return true, failedListener(ln, err)
	}
	defer pl.End()
	watch := s.watchListener(below, pl)
	select {
	case <-s.conns.closingC:
		watch.end()
		done := make(chan struct{})
		g.Hand(func(w *poll.Worker) {
			defer close(done)
			for left, n := DefaultConcurrency, 1; n > 0; left -= n {
				n = pl.Accept(w, left)
			}
		})
		<-done
		return true, nil
	case <-watch.closed:
		return true, nil
	}
}

func failedListener(ln net.Listener, err error) error {
	return &net.OpError{Op: "accept", Net: ln.Addr().Network(), Addr: ln.Addr(), Err: err}
}

// rawListener returns the socket of ln, nil if there is none or something around it.
func (lg *loopGroup) rawListener(ln net.Listener) (raw syscall.RawConn) {
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
	if period := s.TCPKeepalivePeriod; s.TCPKeepalive && period > 0 {
		seconds := int(min((period-1)/time.Second+1, maxKeepIdle))
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, seconds)
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, seconds)
	}
}

// maxKeepIdle is the longest time, in seconds, between probes that Linux takes.
const maxKeepIdle = 32767
