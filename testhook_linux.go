package gallop

import (
	"net"
	"syscall"

	"github.com/gallop-http/gallop/internal/poll"
	"github.com/gallop-http/gallop/internal/testhook"
)

func init() {
	testhook.Kernel = func(server any, create func() poll.Kernel) poll.Kernel {
		return server.(*Server).loops.onKernel(create)
	}
	testhook.SetLoops = func(server any, n int) { server.(*Server).loops.n = n }
	testhook.ServeOnLoop = func(server any, ln net.Listener, connect func() net.Addr) error {
		return server.(*Server).serveOnLoop(ln, connect)
	}
	testhook.ShortRuns = func(server any) uint32 { return server.(*Server).shortRuns() }
}

// onKernel returns the kernel of the loops. If they have none yet, create makes it and they get one loop.
func (lg *loopGroup) onKernel(create func() poll.Kernel) poll.Kernel {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	if lg.kernel == nil {
		lg.kernel, lg.n = create(), 1
	}
	return lg.kernel
}

// serveOnLoop serves a single connection from a listener. See [testhook.ServeOnLoop].
func (s *Server) serveOnLoop(ln net.Listener, connect func() net.Addr) error {
	s.prepare()
	g, err := s.loops.enter(s)
	if err != nil {
		return err
	}
	defer g.Leave()
	pl, err := g.Listen(ln.(syscall.RawConn), &servedListener{Listener: ln, base: s.baseContext(ln)}, nil)
	if err != nil {
		return err
	}
	defer pl.End()
	s.conns.awaitEnd(connect())
	return nil
}

// awaitEnd waits until there is no connection from peer.
func (t *connTable) awaitEnd(peer net.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		found := false
		t.each(func(c *tableEntry) { found = found || c.nc.RemoteAddr().String() == peer.String() })
		if !found {
			return
		}
		t.ended.Wait()
	}
}

// shortRuns returns how many short runs are known of the place that has most of them.
func (s *Server) shortRuns() (most uint32) {
	for i := range s.branch.places {
		most = max(most, s.branch.places[i].Load()&runsMask)
	}
	return most
}
