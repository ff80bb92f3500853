//go:build !linux

package gallop

import (
	"net"
	"time"
)

// There are no event loops here: goroutines serve all connections, and nothing of this is
// ever reached but serveOnLoops and loopCounts.

type loopGroup struct{}

type loopHandler any

type loopConn struct{}

type loopSeat struct {
	conn                      *loopConn
	drained, started, pending bool
	ended                     time.Time
}

func (l *loopSeat) leads() bool { return false }

func (s *connServer) serveOnLoops(*servedListener, loopHandler) (served bool, err error) {
	return false, nil
}

type loopCounts struct {
	onLoop, offLoop, overtaken uint64
	fast, used                 int
}

func (s *connServer) loopCounts() loopCounts { return loopCounts{} }

func (c *connection) begun() (began, ready time.Time) { return c.since, c.ready }

func (c *connection) waitOnLoop() next { return nextPark }

// awaitBreak reports false, as the system does not tell.
func (c *connection) awaitBreak() bool { return false }

func (o *output) writeOnLoop(p []byte) error { return nil }

func (c *connection) leaveLoop() (net.Conn, error) { return c.nc, nil }

func (c *connection) lingerOnLoop(seconds int) {}
