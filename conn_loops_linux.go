package gallop

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/clock"

	"github.com/gallop-http/gallop/internal/poll"
)

// loopGroup is the loops of a server, while there is a listener or a connection.
type loopGroup struct {
	mu     sync.Mutex
	g      *poll.Group
	kernel poll.Kernel // nil but in tests, like n
	n      int         // how many loops; 0: as many as there are processors, also later
	before poll.Stats  // of groups that have ended
	pooled atomic.Uint64
}

// enter returns the loops, and keeps them running until Leave is called.
func (lg *loopGroup) enter(by poll.Handler, idle time.Duration) (*poll.Group, error) {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	if lg.g != nil {
		if lg.g.Enter() {
			return lg.g, nil
		}
		lg.before = lg.stats()
	}
	g, err := poll.NewGroup(by, lg.n, lg.kernel, idle)
	lg.g = g
	return g, err
}

// loopCounts are what loops have done so far.
type loopCounts struct {
	onLoop, offLoop, overtaken uint64 // calls of the program
	fast, used                 int    // places
}

// loopCounts returns what the loops have done so far.
func (s *connServer) loopCounts() (n loopCounts) {
	lg := &s.loops
	lg.mu.Lock()
	defer lg.mu.Unlock()
	of := lg.stats()
	n.onLoop, n.offLoop, n.overtaken = of.Counted, lg.pooled.Load(), of.Overtaken
	n.fast, n.used = s.places.count()
	return n
}

// stats returns the counts of all groups so far. lg is locked.
func (lg *loopGroup) stats() poll.Stats {
	stats := lg.before
	if lg.g != nil {
		now := lg.g.Stats()
		stats.Counted += now.Counted
		stats.Overtaken += now.Overtaken
	}
	return stats
}

// loopHandler is what the loops of a server call. The methods for which the wire is of no account are those of connLoops.
type loopHandler = poll.Handler

var _ [poll.Whats]struct{} = [predictPlaces]struct{}{} // places have numbers that Count takes

// connLoops is the part of a loopHandler that knows no wire.
type connLoops struct{ *connServer }

// Accept implements poll.Handler.
func (s connLoops) Accept(w *poll.Worker, pl *poll.Listener, fd int, peer netip.AddrPort) *poll.Conn {
	lc := &loopConn{id: s.ids.Add(1), since: w.Now()}
	lc.Data = lc
	lc.Init(fd, peer)
	lc.entry.nc = lc
	by := poll.MomentOf(lc.since).Add(clock.Shorter(s.set.idle, s.set.first))
	if clock.Shorter(s.set.idle, s.set.first) == 0 {
		by = 0
	}
	of := pl.Data.(*servedListener)
	secure, isTLS := of.Listener.(*tlsListener)
	lc.entry.context = s.newContext(of)
	lc.Ahead = !isTLS
	if err := w.Group().Add(w, &lc.Conn, by); err != nil {
		s.log.printf("a connection is lost: %v", err)
		return nil
	}
	if isTLS {
		lc.tls = newLoopTLS(lc, secure.config)
	}
	if err := s.admit(); err != nil {
		s.turnAwayFromLoop(lc, err)
		pl.Pause(s.set.pauseWhenFull)
		return nil
	}
	if err := s.table.add(&lc.entry); err != nil {
		if err == errTooManyOfClient {
			s.turnAwayFromLoop(lc, err)
		}
		lc.Finish()
		s.table.leave()
		return nil
	}
	return &lc.Conn
}

// turnAwayFromLoop is turnAway for a connection that a loop has accepted.
func (s *connServer) turnAwayFromLoop(lc *loopConn, reason error) {
	defer lc.Finish()
	if lc.tls != nil {
		s.turnAway(lc.conn(), reason, true)
	} else if nc, err := lc.Take(); err == nil {
		s.turnAway(nc, reason, true)
	}
}

// Sent implements poll.Handler.
func (s connLoops) Sent(pc *poll.Conn) bool {
	pc.Data.(*loopConn).entry.state.CompareAndSwap(phaseActive, phaseIdle)
	return !s.ending.Load() && !s.noIdle.Load() // or who sets these finds it idle
}

// Overdue implements poll.Handler.
func (s connLoops) Overdue(what uint32) {
	if place := &s.places.places[what]; s.set.predicts && isFast(place.Load()) {
		mispredicted(place)
	}
}

// Failed implements poll.Handler.
func (s connLoops) Failed(pl *poll.Listener, pause time.Duration, err error) {
	s.log.accepting(pl.Data.(*servedListener), pause, err)
}
