package raw

import (
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/schedule"
	"github.com/gallop-http/gallop/internal/load/script"
)

// scenario is a thread's part of a scenario.
//
//	ahead ──StartTime──▶ running ──Length──▶ draining ──Grace, or all users at rest──▶ over
type scenario struct {
	t     *thread
	index int
	base  int // index of its first series
	load  *script.Load
	from  script.Script
	all   script.User // of a stateless script: the user that hands out all requests

	phase  phase
	begins time.Duration
	ends   time.Duration // of the phase running
	change time.Duration // when step is due

	users  []*user // by index
	active int     // users that are not at rest
	most   int     // active ones at most in this period

	// Closed loops. Users with an index below want run.
	plan *schedule.Users
	want int
	left *atomic.Int64 // of SharedIterations

	// Open loops.
	arrivals  *schedule.Arrivals
	next      time.Duration // when the next iteration is due
	free      []*user
	mostUsers int  // 0: unlimited
	held      bool // iterations are due, but no connection is free
	heldUntil time.Duration
}

type phase uint8

const (
	ahead phase = iota
	running
	draining
	over
)

func newScenario(t *thread, index, base int) *scenario {
	from := &t.shared.scenarios[index]
	l := &from.Load
	s := &scenario{t: t, index: index, base: base, load: l, from: from.Script, begins: l.StartTime, ends: l.StartTime + l.Length(), change: l.StartTime, next: never, heldUntil: -1, left: &t.shared.left[index]}
	if isStateless(s.from) {
		s.all = s.from.NewUser(t.part.Number(0))
	}
	if l.Executor.Open() {
		s.arrivals = schedule.NewArrivals(l, t.part, t.Seed+uint64(index)<<32)
		s.mostUsers = int(t.part.Share(int64(l.MaxVUs)))
		for range t.part.Share(int64(l.VUs)) {
			s.free = append(s.free, s.addUser())
		}
	} else {
		s.plan = schedule.NewUsers(l, t.part)
	}
	return s
}

// addUser creates a user, which is at rest.
func (s *scenario) addUser() *user {
	u := &user{t: s.t, sc: s, index: len(s.users), left: max(s.load.Iterations, 1), script: s.all}
	if u.script == nil {
		u.script = s.from.NewUser(s.t.part.Number(u.index))
	}
	s.users = append(s.users, u)
	return u
}

// counts returns what the period counts about the users.
func (s *scenario) counts() *result.Users { return &s.t.period.Users[s.index] }

// step is called at the time change. It sets the time of the next change.
func (s *scenario) step() {
	switch {
	case s.phase == ahead && (s.plan == nil || s.t.now < s.ends): // a late open loop still sends what was due
		s.phase = running
		if s.plan == nil {
			s.change = s.ends
			s.findNext()
			return
		}
		s.ramp()
	case s.phase == running && s.t.now < s.ends:
		s.ramp()
	case s.phase == ahead:
		s.finish()
	case s.phase == running:
		s.drain()
	case s.phase == draining:
		for _, u := range s.users {
			u.abort()
		}
		s.finish()
	}
}

func (s *scenario) finish() { s.phase, s.change = over, never }

// cancel ends the scenario early.
func (s *scenario) cancel() {
	if s.phase == ahead || s.phase == running {
		s.ends = min(s.ends, s.t.now)
		s.change = s.t.now
	}
}

// ramp starts the users of a closed loop that should run now. Users that should not run any more come to rest after their
// iteration.
func (s *scenario) ramp() {
	want, next := s.plan.At(s.t.now - s.begins)
	s.want = want
	s.change = s.ends
	if next != never {
		s.change = min(s.ends, s.begins+next)
	}
	for i := range want {
		if i == len(s.users) {
			s.addUser()
		}
		if u := s.users[i]; u.state == resting && u.left > 0 {
			s.activate(u)
			s.t.running.push(u)
		}
	}
	s.endEarly()
}

// activate makes a user start an iteration as soon as it goes on.
func (s *scenario) activate(u *user) {
	u.state, u.first = ready, true
	s.active++
	s.most = max(s.most, s.active)
}

// mayIterate reports whether a user of a closed loop may start another iteration. It counts the iteration.
func (s *scenario) mayIterate(u *user) bool {
	if s.phase != running || u.index >= s.want {
		return false
	}
	switch s.load.Executor {
	case script.SharedIterations:
		return s.left.Add(-1) >= 0
	case script.PerVUIterations:
		u.left--
		return u.left >= 0
	}
	return true
}

// rested is called when a user has come to rest.
func (s *scenario) rested(u *user) {
	s.active--
	if s.arrivals != nil {
		s.free = append(s.free, u)
	}
	s.endEarly()
}

// endEarly ends the scenario if nothing can happen in it any more.
func (s *scenario) endEarly() {
	finite := s.load.Executor == script.SharedIterations || s.load.Executor == script.PerVUIterations
	if s.active == 0 && (s.phase == draining || s.phase == running && finite) {
		s.finish()
	}
}

// drain ends the phase in which iterations start.
func (s *scenario) drain() {
	if s.arrivals != nil {
		s.drainArrivals()
	}
	s.phase, s.want = draining, 0
	s.t.unpark()
	s.change = s.t.now + s.load.Grace
	s.endEarly()
}
