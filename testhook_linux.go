package gallop

import (
	"net"
	"syscall"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/poll"
	"github.com/gallop-http/gallop/internal/testhook"
)

func init() {
	testhook.Kernel = func(server any, create func() poll.Kernel) poll.Kernel {
		return server.(*Server).conns.Loops.OnKernel(create)
	}
	testhook.SetLoops = func(server any, n int) { server.(*Server).conns.Loops.N = n }
	testhook.ServeOnLoop = func(server any, ln net.Listener, connect func() net.Addr) error {
		return server.(*Server).serveOnLoop(ln, connect)
	}
	testhook.ShortRuns = func(server any) uint32 { return server.(*Server).shortRuns() }
}

// serveOnLoop serves a single connection from a listener. See [testhook.ServeOnLoop].
func (s *Server) serveOnLoop(ln net.Listener, connect func() net.Addr) error {
	s.prepare()
	g, err := s.conns.Loops.Enter(s.loopHandler(), s.set.WorkerIdle)
	if err != nil {
		return err
	}
	defer g.Leave()
	of := &conn.Listener{Listener: ln, Base: s.baseContext(ln)}
	if s.TLSConfig != nil {
		cfg, err := s.tlsConfig()
		if err != nil {
			return err
		}
		of.Listener = &conn.TLSListener{Listener: ln, Config: cfg}
	}
	pl, err := g.Listen(ln.(syscall.RawConn), of, nil)
	if err != nil {
		return err
	}
	defer pl.End()
	s.conns.Table.AwaitEnd(connect())
	return nil
}

// shortRuns returns how many short runs are known of the place that has most of them.
func (s *Server) shortRuns() (most uint32) {
	for i := range s.conns.Places.Places {
		most = max(most, s.conns.Places.Places[i].Load()&conn.RunsMask)
	}
	return most
}
