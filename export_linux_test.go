package gallop

import (
	"net"

	"github.com/gallop-http/gallop/internal/poll"
	"github.com/gallop-http/gallop/internal/wiretest"
)

var _ poll.Kernel = (*wiretest.Kernel)(nil)

func init() {
	servers["loop"] = ServeOnLoop
	servers["inline"] = ServeInline
}

// ServeOnLoop is ServeConn on an event loop whose operating system is in memory: it returns
// when the connection has ended, or was taken away.
func ServeOnLoop(s *Server, nc net.Conn) error {
	return ServeIn(s, nc, ListenOnLoop(s))
}

// ServeInline is ServeOnLoop with a server that calls its handlers on the loop.
func ServeInline(s *Server, nc net.Conn) error {
	return ServeIn(s, nc, ListenInline(s))
}

// ServeIn is ServeOnLoop by way of a new listener in memory, which it closes.
func ServeIn(s *Server, nc net.Conn, ln *wiretest.KernelListener) error {
	defer ln.Close()
	s.prepare()
	g, err := s.loops.enter(s)
	if err != nil {
		return err
	}
	defer g.Leave()
	pl, err := g.Listen(ln, &servedListener{Listener: ln, base: s.baseContext(ln)}, nil)
	if err != nil {
		return err
	}
	defer pl.End()
	conn := nc.(wiretest.Pollable)
	peer := ln.Connect(conn)
	ln.Await(conn)
	s.conns.awaitEnd(peer) // it is closed, but somebody may still be at it
	return nil
}

// ListenOnLoop returns a listener in memory that s is to serve on its event loop.
func ListenOnLoop(s *Server) *wiretest.KernelListener { return s.listenInMemory(DispatchAuto) }

// ListenInline returns one for a server that calls its handlers on the loop.
func ListenInline(s *Server) *wiretest.KernelListener { return s.listenInMemory(DispatchInline) }

// Kernel returns what is the operating system for the loops of s, once it has listened in
// memory.
func Kernel(s *Server) *wiretest.Kernel { return s.loops.kernel.(*wiretest.Kernel) }

func (s *Server) listenInMemory(dispatch DispatchType) *wiretest.KernelListener {
	lg := &s.loops
	lg.mu.Lock()
	defer lg.mu.Unlock()
	if lg.kernel == nil {
		lg.kernel, lg.n = wiretest.NewKernel(), 1
		if s.Dispatch == DispatchAuto {
			s.Dispatch = dispatch
		}
	}
	return lg.kernel.(*wiretest.Kernel).Listen()
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

// SetLoops has s serve in memory on n loops.
func SetLoops(s *Server, n int) { s.loops.n = n }

// ShortRuns returns how many short runs are known of the place that has most of them.
func ShortRuns(s *Server) (most uint32) {
	for i := range s.branch.places {
		most = max(most, s.branch.places[i].Load()&runsMask)
	}
	return most
}
