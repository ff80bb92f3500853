package server_test

import (
	"slices"
	"syscall"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// simSocket is the server's end of a connection, on which calls do less than they could now and
// then. The bytes or the room that they leave over count later.
type simSocket struct {
	*wiretest.Conn
	m        *simulation
	happened func()
	owesRead bool // an event; guarded by m.mu
	owesRoom bool
}

// Watch is told of a connection that is taken away by nil.
func (s *simSocket) Watch(f func()) {
	s.m.mu.Lock()
	s.happened = f
	s.m.mu.Unlock()
	s.Conn.Watch(f)
}

// TryRead reads less than there is now and then, or nothing.
func (s *simSocket) TryRead(p []byte) (int, error) { return s.less(p, s.Conn.TryRead, &s.owesRead) }

// TryWrite does so with writing.
func (s *simSocket) TryWrite(p []byte) (int, error) { return s.less(p, s.Conn.TryWrite, &s.owesRoom) }

func (s *simSocket) less(p []byte, call func([]byte) (int, error), owes *bool) (int, error) {
	m := s.m
	m.mu.Lock()
	if len(p) < 2 || m.nobody || m.rng.IntN(8) > 0 {
		m.mu.Unlock()
		return call(p)
	}
	n := m.rng.IntN(min(len(p), 64))
	if *owes = true; !slices.Contains(m.owing, s) {
		m.owing = append(m.owing, s)
	}
	m.mu.Unlock()
	if n > 0 {
		return call(p[:n])
	}
	return 0, syscall.EAGAIN
}

// Ready reports more than there is now and then, as systems do.
func (s *simSocket) Ready() wiretest.Readiness {
	r := s.Conn.Ready()
	r.Read = r.Read || s.m.draw(16) == 0
	return r
}

// payOne has an event come that a socket owes, if there is one.
func (m *simulation) payOne() bool {
	m.mu.Lock()
	if len(m.owing) == 0 {
		m.mu.Unlock()
		return false
	}
	i := m.rng.IntN(len(m.owing))
	s := m.owing[i]
	f, paid := s.happened, !s.owesRoom || s.Conn.Ready().Write
	if paid {
		s.owesRead, s.owesRoom = false, false
		m.owing = slices.Delete(m.owing, i, i+1)
	}
	m.note("event", i)
	m.mu.Unlock()
	if f != nil {
		f()
	}
	return paid
}
