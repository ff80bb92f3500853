package gallop_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
)

// transport is a way in which a server serves connections in memory: those of package
// wiretest, in virtual time or not.
type transport struct {
	name      string
	serveConn func(*gallop.Server, net.Conn) error
	listen    func(*gallop.Server) listener
}

// listener is a listener in memory.
type listener interface {
	net.Listener
	Dial() (net.Conn, error)
}

var goroutines = transport{
	"goroutine", gallop.ServeAccepted, func(*gallop.Server) listener { return memnet.NewListener() },
}

// onTransports runs a test on each transport there is.
func onTransports(t *testing.T, test func(t *testing.T, on transport)) {
	t.Helper()
	for _, on := range allTransports {
		t.Run(on.name, func(t *testing.T) { test(t, on) })
	}
}

// onSockets runs a test for servers that serve real sockets in one way and in the other.
func onSockets(t *testing.T, test func(t *testing.T, over gallop.EngineType)) {
	t.Helper()
	t.Run("loop", func(t *testing.T) { test(t, gallop.EngineLoop) })
	t.Run("goroutine", func(t *testing.T) { test(t, gallop.EngineGoroutine) })
}

// serve returns a function that serves a connection to its end. On event loops its error
// is always nil: there it is for the log only.
func (on transport) serve(s *gallop.Server) func(net.Conn) error {
	return func(c net.Conn) error { return on.serveConn(s, c) }
}

// fewer returns how many of n things to do in a test that begins with a new server for each:
// event loops are many times as dear as a goroutine then.
func (on transport) fewer(n int) int {
	switch {
	case on.name == goroutines.name:
		return n
	case gallop.RaceEnabled:
		return (n + 7) / 8
	}
	return (n + 1) / 2
}

// talk runs f as the client of s, over a connection in memory and in virtual time.
func (on transport) talk(t *testing.T, s *gallop.Server, f func(c *wiretest.Conversation)) {
	t.Helper()
	if s.Logger == nil {
		s.Logger = quiet
	}
	synctest.Test(t, func(t *testing.T) {
		c := wiretest.Start(t, on.serve(s))
		c.Patience = time.Hour
		f(c)
	})
}
