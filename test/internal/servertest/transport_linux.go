package servertest

import (
	"net"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/poll"
	"github.com/gallop-http/gallop/internal/testhook"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// Transports are the transports of this platform. Event loops run on a [wiretest.Kernel]. A new server calls hardly any
// handler on its loops, because it does not know yet how long handlers take. The transport "inline" therefore has a server
// that calls every handler on the loop.
var Transports = []Transport{
	Goroutines,
	onLoops("loop", ServeOnLoop, ListenOnLoop),
	onLoops("inline", ServeInline, ListenInline),
}

func onLoops(name string, serve func(*gallop.Server, net.Conn) error, listen func(*gallop.Server) *wiretest.KernelListener) Transport {
	return Transport{
		Name:      name,
		serveConn: serve,
		listen:    func(s *gallop.Server) Listener { return listen(s) },
		hold:      func(s *gallop.Server) func() { return holdLoops(s, listen(s)) },
	}
}

// ServeOnLoop serves a connection on an event loop whose operating system is in memory. It returns when the connection
// is closed or was hijacked.
func ServeOnLoop(s *gallop.Server, nc net.Conn) error { return ServeIn(s, nc, ListenOnLoop(s)) }

// ServeInline serves a connection as [ServeOnLoop] does, with a server that calls its handlers on the loop.
func ServeInline(s *gallop.Server, nc net.Conn) error { return ServeIn(s, nc, ListenInline(s)) }

// ServeIn serves a connection as [ServeOnLoop] does, through a new listener in memory that it closes.
func ServeIn(s *gallop.Server, nc net.Conn, ln *wiretest.KernelListener) error {
	defer ln.Close()
	return testhook.ServeOnLoop(s, ln, func() net.Addr {
		conn := nc.(wiretest.Pollable)
		peer := ln.Connect(conn)
		ln.Await(conn)
		return peer
	})
}

// holdLoops starts the event loops of s for ln and returns a function that closes ln and lets the loops end.
func holdLoops(s *gallop.Server, ln *wiretest.KernelListener) (release func()) {
	started, end, ended := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		started <- testhook.ServeOnLoop(s, ln, func() net.Addr {
			started <- nil
			<-end
			return &net.TCPAddr{} // of no connection
		})
	}()
	if err := <-started; err != nil {
		panic(err)
	}
	return func() {
		close(end)
		<-ended
		_ = ln.Close()
	}
}

// ListenOnLoop returns a listener in memory for s, which serves it on its event loop.
func ListenOnLoop(s *gallop.Server) *wiretest.KernelListener {
	return listenInMemory(s, gallop.DispatchAuto)
}

// ListenInline returns a listener in memory for s, which serves it on its event loop and calls its handlers there.
func ListenInline(s *gallop.Server) *wiretest.KernelListener {
	return listenInMemory(s, gallop.DispatchInline)
}

// Kernel returns the operating system of the loops of s, which has listened in memory before.
func Kernel(s *gallop.Server) *wiretest.Kernel { return kernelOf(s, s.Dispatch) }

func listenInMemory(s *gallop.Server, dispatch gallop.DispatchType) *wiretest.KernelListener {
	return kernelOf(s, dispatch).Listen()
}

// kernelOf returns the kernel of s. A server that has none yet gets one, and the dispatch unless it has set another.
func kernelOf(s *gallop.Server, dispatch gallop.DispatchType) *wiretest.Kernel {
	return testhook.Kernel(s, func() poll.Kernel {
		if s.Dispatch == gallop.DispatchAuto {
			s.Dispatch = dispatch
		}
		return wiretest.NewKernel()
	}).(*wiretest.Kernel)
}

// SetLoops has s serve in memory on n loops. Call it after s has listened in memory, before connections arrive.
func SetLoops(s *gallop.Server, n int) { testhook.SetLoops(s, n) }

// ShortRuns returns how many short runs are known of the place in a handler that has most of them.
func ShortRuns(s *gallop.Server) uint32 { return testhook.ShortRuns(s) }
