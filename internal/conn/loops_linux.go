package conn

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/poll"
)

// LoopGroup is the loops of a server, while there is a listener or a connection.
type LoopGroup struct {
	mu     sync.Mutex
	g      *poll.Group
	kernel poll.Kernel // nil but in tests, like n
	N      int         // how many loops; 0: as many as there are processors, also later
	before poll.Stats  // of groups that have ended
	pooled atomic.Uint64
}

// Enter returns the loops, and keeps them running until Leave is called.
func (lg *LoopGroup) Enter(by poll.Handler, idle time.Duration) (*poll.Group, error) {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	if lg.g != nil {
		if lg.g.Enter() {
			return lg.g, nil
		}
		lg.before = lg.stats()
	}
	g, err := poll.NewGroup(by, lg.N, lg.kernel, idle)
	lg.g = g
	return g, err
}

// LoopCounts are what loops have done so far.
type loopCounts struct {
	OnLoop, OffLoop, Overtaken uint64 // calls of the program
	Fast, Used                 int    // places
}

// LoopCounts returns what the loops have done so far.
func (s *Server) LoopCounts() (n loopCounts) {
	lg := &s.Loops
	lg.mu.Lock()
	defer lg.mu.Unlock()
	of := lg.stats()
	n.OnLoop, n.OffLoop, n.Overtaken = of.Counted, lg.pooled.Load(), of.Overtaken
	n.Fast, n.Used = s.Places.count()
	return n
}

// stats returns the counts of all groups so far. lg is locked.
func (lg *LoopGroup) stats() poll.Stats {
	stats := lg.before
	if lg.g != nil {
		now := lg.g.Stats()
		stats.Counted += now.Counted
		stats.Overtaken += now.Overtaken
	}
	return stats
}

// Handler is what the loops of a server call. The methods for which the wire is of no account are those of Loops.
type Handler = poll.Handler

var _ [poll.Whats]struct{} = [PredictPlaces]struct{}{} // places have numbers that Count takes

// Loops is the part of a Handler that knows no wire.
type Loops struct{ *Server }

// Accept implements poll.Handler.
func (s Loops) Accept(w *poll.Worker, pl *poll.Listener, fd int, peer netip.AddrPort) *poll.Conn {
	lc := &LoopConn{ID: s.ids.Add(1), since: w.Now()}
	lc.Data = lc
	lc.Init(fd, peer)
	lc.Entry.NC = lc
	by := poll.MomentOf(lc.since).Add(clock.Shorter(s.set.Idle, s.set.First))
	if clock.Shorter(s.set.Idle, s.set.First) == 0 {
		by = 0
	}
	of := pl.Data.(*Listener)
	secure, isTLS := of.Listener.(*TLSListener)
	lc.Entry.setContext(s.newContext(of))
	lc.Ahead = !isTLS
	if err := w.Group().Add(w, &lc.Conn, by); err != nil {
		s.Log.printf("a connection is lost: %v", err)
		return nil
	}
	if isTLS {
		lc.Entry.withRare().tls = newLoopTLS(lc, secure.Config)
	}
	if err := s.Admit(); err != nil {
		s.turnAwayFromLoop(lc, err)
		pl.Pause(s.set.PauseWhenFull)
		return nil
	}
	if err := s.Table.Add(&lc.Entry); err != nil {
		if err == ErrTooManyOfClient {
			s.turnAwayFromLoop(lc, err)
		}
		lc.Finish()
		s.Table.Leave()
		return nil
	}
	return &lc.Conn
}

// turnAwayFromLoop is TurnAway for a connection that a loop has accepted.
func (s *Server) turnAwayFromLoop(lc *LoopConn, reason error) {
	defer lc.Finish()
	if lc.IsTLS() {
		s.TurnAway(lc.Visible(), reason, true)
		return
	}
	from := lc.RemoteAddr()
	nc, err := lc.Take()
	if err != nil { // Take needs one more descriptor, and none is left
		s.noteRejection(from, reason)
		return
	}
	s.TurnAway(nc, reason, true)
}

// Sent implements poll.Handler.
func (s Loops) Sent(pc *poll.Conn) bool {
	pc.Data.(*LoopConn).Entry.become(phaseIdle)
	return !s.Ending.Load() && !s.NoIdle.Load() // or who sets these finds it idle
}

// Overdue implements poll.Handler.
func (s Loops) Overdue(what uint32) {
	if place := &s.Places.Places[what]; s.set.Predicts && IsFast(place.Load()) {
		mispredicted(place)
	}
}

// Failed implements poll.Handler.
func (s Loops) Failed(pl *poll.Listener, pause time.Duration, err error) {
	s.Log.accepting(pl.Data.(*Listener), pause, err)
}
