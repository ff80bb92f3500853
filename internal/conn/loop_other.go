//go:build !linux

package conn

import (
	"net"
	"time"
)

// There are no event loops here: goroutines serve all connections, and nothing of this is
// ever reached but ServeOnLoops and LoopCounts.

type LoopGroup struct{}

type Handler any

type LoopConn struct{ Entry Entry }

func (lc *LoopConn) Ended() bool { return false }

func (lc *LoopConn) Kick() {}

func (lc *LoopConn) Unwatch() bool { return false }

type loopParts struct{}

func (lc *LoopConn) SetWriteDeadline(time.Time) error { return nil }

type Pusher struct{}

func (c *Conn) StartPushing() Pusher { return Pusher{} }

func (p Pusher) Push([]byte) (int, error) { return 0, nil }

func (p Pusher) Unsent() int { return 0 }

type Seat struct {
	Conn  *LoopConn
	Ended time.Time
}

func (l *Seat) Leads() bool { return false }

func (l *Seat) Leave() {}

func (l *Seat) StartOnLoop() (time.Time, bool) { return time.Time{}, false }

func (l *Seat) EndOnLoop(time.Time, bool) {}

func (l *Seat) fresh(uint64) bool { return false }

func (s *Server) ServeOnLoops(*Listener, Handler) (served bool, err error) {
	return false, nil
}

type loopCounts struct {
	OnLoop, OffLoop, Overtaken uint64
	Fast, Used                 int
}

func (s *Server) LoopCounts() loopCounts { return loopCounts{} }

func (c *Conn) Begun() (began, ready time.Time) { return c.since, c.Ready }

func (c *Conn) ResumePartial() (began time.Time) { return c.Now }

func (c *Conn) waitOnLoop() Next { return Park }

func (c *Conn) moreOnLoop() Next { return Park }

func (c *Conn) watchOnLoop(func()) bool { return false }

// awaitBreak reports false, as the system does not tell.
func (c *Conn) awaitBreak() bool { return false }

func (o *Output) writeOnLoop(p []byte) error { return nil }

func (c *Conn) LeaveLoop() (net.Conn, error) {
	c.Entry.become(phaseTaken)
	return c.NC, nil
}

func (c *Conn) lingerOnLoop(seconds int) {}

func (c *Conn) LingerOnLoop() bool { return false }
