package raw

// findNext finds out when the next iteration is due.
func (s *scenario) findNext() {
	s.next = never
	if s.phase == running && !s.held {
		if due, ok := s.arrivals.Next(); ok {
			s.next = s.begins + due
		}
	}
}

// findDue finds out when the next iteration of any open loop is due.
func (t *thread) findDue() {
	t.due = never
	for _, s := range t.scenarios {
		t.due = min(t.due, s.next)
	}
}

// startDue starts up to most of the iterations that are due, and returns how many it has left. Due times are drawn one after
// the other, so it does not matter how many there are.
func (t *thread) startDue(most int) int {
	for _, s := range t.scenarios {
		for ; s.next <= t.now && most > 0; most-- {
			s.startNext()
		}
	}
	t.findDue()
	return most
}

// startNext starts the next iteration. It drops it if all users are busy. If there is no limit on users, but one on
// connections, the iteration waits for a connection without being drawn.
func (s *scenario) startNext() {
	if s.t.Conns > 0 && s.load.MaxVUs == 0 && !s.t.hasRoom() {
		s.held, s.next = true, never
		return
	}
	u := s.takeUser()
	if u == nil {
		s.drop()
		return
	}
	if s.next > s.heldUntil {
		s.t.period.Lag.Add(s.t.now - s.next)
	}
	u.due = s.next
	s.activate(u)
	s.arrivals.Advance()
	s.findNext()
	u.goOn()
}

// takeUser returns a user at rest, or nil.
func (s *scenario) takeUser() *user {
	if last := len(s.free) - 1; last >= 0 {
		u := s.free[last]
		s.free = s.free[:last]
		return u
	}
	if s.mostUsers > 0 && len(s.users) >= s.mostUsers || s.load.MaxVUs > 0 && s.mostUsers == 0 {
		return nil
	}
	return s.addUser()
}

// drop counts the next iteration as dropped. Nobody knows which request it would have begun with, so the first series has it.
func (s *scenario) drop() {
	s.counts().Dropped++
	series := s.t.period.Series[s.base]
	series.Due++
	series.Dropped++
	s.arrivals.Advance()
	s.findNext()
}

// release lets iterations start that waited for a connection.
func (t *thread) release() {
	for _, s := range t.scenarios {
		if s.held {
			s.held, s.heldUntil = false, t.now
			s.findNext()
			t.due = min(t.due, s.next)
		}
	}
}

// scale applies the factor of the rates and the pause of the whole run.
func (t *thread) scale() {
	factor := t.factor
	if t.paused {
		factor = 0
	}
	for _, s := range t.scenarios {
		if s.arrivals != nil {
			s.arrivals.Scale(max(0, t.now-s.begins), factor)
			s.findNext()
		}
	}
	t.findDue()
}

// drainArrivals starts what is still due at the end. Iterations that wait for a connection are dropped.
func (s *scenario) drainArrivals() {
	canceled := s.t.canceled
	s.held = s.held || canceled
	for s.next <= min(s.t.now, s.ends) && !s.held {
		s.startNext()
	}
	if s.held && !canceled {
		s.held = false
		for s.findNext(); s.next <= s.ends; {
			s.drop()
		}
	}
	s.held, s.next = false, never
}
