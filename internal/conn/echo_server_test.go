package conn_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
)

// echoServer is a server of the echo protocol.
type echoServer struct {
	conn.Server
	set   conn.Settings
	limit time.Duration // for handlers; they are left behind after that
	loop  dispatch

	onSockets bool // and so a busy machine may delay everything

	late   atomic.Int32 // handlers that were left behind and have not returned
	mu     sync.Mutex
	wrongs []string
	last   *echoWire // that was made

	dialBelow func() (net.Conn, error) // dials without TLS; nil unless a loop serves TLS
}

// dispatch says which handlers run on the loop.
type dispatch int

const (
	predicted dispatch = iota // those that the predictor takes for fast
	always
	never
)

// handlerTime returns how long handlers may take. In memory, time stands still while they run. On sockets, fast handlers must
// not be late although the machine may be busy.
func (s *echoServer) handlerTime() time.Duration {
	if s.onSockets {
		return time.Second
	}
	return 20 * time.Millisecond
}

func newEchoServer() *echoServer {
	s := &echoServer{set: conn.Settings{
		MaxConns: 1000, WorkerIdle: 10 * time.Second, ReadBuf: 4 << 10, WriteBuf: 4 << 10, Poison: true, Predicts: true, HalfOpen: true,
		First: 10 * time.Second, Idle: time.Minute, Progress: time.Minute,
	}}
	s.Init(&s.set, conn.Hooks{
		Serve:  s.serveAccepted,
		Reject: func(error) (int, []byte) { return 0, appendFrame(nil, 0, frameAway, "") },
	})
	s.Log.To = s
	return s
}

// Printf logs a message. Nothing that these tests do is worth one, except panics.
func (s *echoServer) Printf(format string, args ...any) { s.wrong("log: "+format, args...) }

// wrong notes that something went wrong.
func (s *echoServer) wrong(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrongs = append(s.wrongs, fmt.Sprintf(format, args...))
}

// allWrong returns what went wrong.
func (s *echoServer) allWrong() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrongs
}

// Serve serves the connections of a listener: on loops, if they can be served there.
func (s *echoServer) Serve(ln net.Listener) error {
	of := s.Table.AddListener(ln)
	if of == nil {
		return ln.Close()
	}
	defer of.Drop()
	if served, err := s.ServeOnLoops(of, s.handler()); served {
		return err
	}
	return s.AcceptLoop(of)
}

// serveAccepted serves a connection on a goroutine, to its end.
func (s *echoServer) serveAccepted(a conn.Accepted) {
	c := s.newWire()
	c.Start(&s.Server, c, a.Conn, a.From)
	c.kick = c.Wake
	c.start = func(x *exchange) { go x.run() }
	if err := s.Table.Add(c.Entry); err != nil {
		s.Table.Leave()
		_ = a.Close()
		return
	}
	c.Report(conn.StateNew)
	if _, err := c.Handshake(); err == nil {
		c.Ready = c.Now
		unhook := context.AfterFunc(s.Stopped, c.stopping)
		defer unhook()
		c.serve()
	}
	c.finish(func() {
		c.BeginClosing()
		_ = c.Closing().Close()
		c.Report(conn.StateClosed)
	})
}

// stopping has the wire look whether it is to say that the server stops. Table.EndIdle looks after idle connections.
func (c *echoWire) stopping() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy() {
		c.kick()
	}
}

// Shutdown ends the server when all exchanges have ended, or when ctx has.
func (s *echoServer) Shutdown(ctx context.Context) error {
	s.Stopping.Store(true)
	s.Table.CloseListeners(ctx, conn.AcceptGrace)
	s.Away.End(ctx)
	s.Stop()
	s.Ending.Store(true)
	s.Table.EndIdle(ctx)
	unhook := context.AfterFunc(ctx, s.Table.Wake)
	defer unhook()
	if !s.Table.WaitEmpty(ctx) {
		s.Table.CloseAll(conn.CutPatience)
	}
	s.Workers.Drain()
	return s.Table.CloseError(ctx.Err())
}
