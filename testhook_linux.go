package gallop

import (
	"net"
	"syscall"

	"github.com/gallop-http/gallop/internal/poll"
	"github.com/gallop-http/gallop/internal/testhook"
)

func init() {
	testhook.Kernel = func(server any, create func() poll.Kernel) poll.Kernel {
		return server.(*Server).conns.loops.onKernel(create)
	}
	testhook.SetLoops = func(server any, n int) { server.(*Server).conns.loops.n = n }
	testhook.ServeOnLoop = func(server any, ln net.Listener, connect func() net.Addr) error {
		return server.(*Server).serveOnLoop(ln, connect)
	}
	testhook.ShortRuns = func(server any) uint32 { return server.(*Server).shortRuns() }
}

// serveOnLoop serves a single connection from a listener. See [testhook.ServeOnLoop].
func (s *Server) serveOnLoop(ln net.Listener, connect func() net.Addr) error {
	s.prepare()
	g, err := s.conns.loops.enter(s.loopHandler(), s.set.workerIdle)
	if err != nil {
		return err
	}
	defer g.Leave()
	pl, err := g.Listen(ln.(syscall.RawConn), &servedListener{Listener: ln, base: s.baseContext(ln)}, nil)
	if err != nil {
		return err
	}
	defer pl.End()
	s.conns.table.awaitEnd(connect())
	return nil
}

// shortRuns returns how many short runs are known of the place that has most of them.
func (s *Server) shortRuns() (most uint32) {
	for i := range s.conns.places.places {
		most = max(most, s.conns.places.places[i].Load()&runsMask)
	}
	return most
}
