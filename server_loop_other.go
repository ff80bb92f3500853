//go:build !linux

package gallop

import (
	"net"
	"time"
)

// There are no event loops here: goroutines serve all connections, and nothing of this is
// ever reached but serveOnLoops and loopStats.

type loopGroup struct{}

type loopConn struct{}

type loopSeat struct {
	conn                               *loopConn
	drained, partial, started, pending bool
	ended                              time.Time
}

func (l *loopSeat) leads() bool { return false }

func (s *Server) serveOnLoops(*servedListener) (served bool, err error) { return false, nil }

func (s *Server) loopStats() LoopStats { return LoopStats{} }

func (c *connection) begun() (began, ready time.Time) { return c.since, c.ready }

func (c *serverConn) resumeHead() {}

func (c *serverConn) moreOfHead() (bool, next) { return false, nextStep }

func (c *serverConn) waitOnLoop() next { return nextPark }

func (c *serverConn) mayRunHere() bool { return true }

func (c *serverConn) handleOnLoop() { c.srv.Handler(&c.ctx) }

// awaitBreak reports false, as the system does not tell.
func (c *connection) awaitBreak() bool { return false }

func (o *output) writeOnLoop(p []byte) error { return nil }

func (c *connection) leaveLoop() (net.Conn, error) { return c.nc, nil }

func (c *connection) lingerOnLoop(seconds int) {}

func (c *serverConn) mayParkLater() bool { return false }
