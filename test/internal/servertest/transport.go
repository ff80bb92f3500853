package servertest

import (
	"crypto/tls"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/poll"
	"github.com/gallop-http/gallop/internal/testhook"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
)

// RaceEnabled reports whether the race detector runs.
var RaceEnabled = testhook.RaceEnabled

func init() {
	testhook.WatchMoves()
	wiretest.OpenForGood = poll.Yield
}

// Moves returns how often the connections of all servers have changed their states, by the names of both states.
func Moves() map[string]uint64 { return testhook.Moves() }

// Transport is a way in which a server serves connections in memory. The connections are those of package wiretest. A
// Transport works in virtual time and in real time.
type Transport struct {
	Name      string // of the subtest
	Protocol  Protocol
	serveConn func(*gallop.Server, net.Conn) error
	listen    func(*gallop.Server) Listener
	hold      func(s *gallop.Server) (release func()) // starts the event loops of s, if it serves on loops
}

// Listener is a listener in memory.
type Listener interface {
	net.Listener
	Dial() (net.Conn, error)
}

// Goroutines is the transport that serves each connection on a goroutine of its own.
var Goroutines = Transport{
	Name:      "goroutine",
	serveConn: serveAccepted,
	listen:    func(*gallop.Server) Listener { return memnet.NewListener() },
	hold:      func(*gallop.Server) func() { return func() {} },
}

func serveAccepted(s *gallop.Server, c net.Conn) error {
	if s.TLSConfig != nil {
		c = tls.Server(c, s.TLSConfig)
	}
	return testhook.ServeAccepted(s, c)
}

// OnTransports runs a test on each of [Transports], as a subtest with the transport's name.
func OnTransports(t *testing.T, test func(t *testing.T, on Transport)) {
	t.Helper()
	for _, on := range Transports {
		t.Run(on.Name, func(t *testing.T) { test(t, on) })
	}
}

// OnSockets runs a test that uses real sockets, with event loops and with a goroutine per connection.
func OnSockets(t *testing.T, test func(t *testing.T, over gallop.EngineType)) {
	t.Helper()
	t.Run("loop", func(t *testing.T) { test(t, gallop.EngineLoop) })
	t.Run("goroutine", func(t *testing.T) { test(t, gallop.EngineGoroutine) })
}

// Listen returns a listener in memory. On event loops only s can serve it. There is none that serves TLS.
func (on Transport) Listen(s *gallop.Server) Listener {
	if on.prepare(s); on.HTTP2() {
		return http2Listener{on.listen(s)}
	}
	return on.listen(s)
}

// Serve returns a function that serves a connection until it is closed. On event loops the function returns nil even if
// serving failed, and the error is only in the log.
func (on Transport) Serve(s *gallop.Server) func(net.Conn) error {
	return func(c net.Conn) error {
		if on.prepare(s); on.HTTP2() {
			return on.serveHTTP2(s, c)
		}
		growStack()
		return on.serveConn(s, c)
	}
}

// growStack enlarges the stack of a new goroutine to 16 KiB in one step, because serving a connection needs that much. The
// runtime doubles a stack that is full and copies its frames, which takes long if calls are nested deeply.
//
//go:noinline
func growStack() {
	var room [9 << 10]byte
	touch(room[:])
}

//go:noinline
func touch(b []byte) { b[0]++ }

// Hold starts the event loops of s and returns a function that lets them end. Without it, [Transport.Serve] starts event
// loops for each connection that arrives while no other is open, which takes longer than to serve a short connection.
func (on Transport) Hold(s *gallop.Server) (release func()) { return on.hold(s) }

// HoldNew is like [Transport.Hold] for a server that stands for many new servers. On the transport "loop" it never calls
// a handler on its loops, however many short calls it has seen.
func (on Transport) HoldNew(s *gallop.Server) (release func()) {
	if on.Name == "loop" {
		s.Dispatch = gallop.DispatchGoroutine
	}
	return on.Hold(s)
}

// Fewer returns how many of n things to do in a test that starts a new server for each. Starting event loops costs many
// times as much as starting a goroutine.
func (on Transport) Fewer(n int) int {
	switch {
	case on.Name == Goroutines.Name:
		return n
	case RaceEnabled:
		return (n + 7) / 8
	}
	return (n + 1) / 2
}

// Talk runs f as the client of s, over a connection in memory and in virtual time. A server without a Logger gets
// [Quiet].
func (on Transport) Talk(t *testing.T, s *gallop.Server, f func(c *wiretest.Conversation)) {
	t.Helper()
	if s.Logger == nil {
		s.Logger = Quiet
	}
	synctest.Test(t, func(t *testing.T) {
		c := wiretest.Start(t, on.Serve(s))
		c.Patience = time.Hour
		f(c)
	})
}
