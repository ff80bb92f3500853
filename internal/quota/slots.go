// Package quota shares a limited amount between many users: slots, for which users wait in a line, and bytes of memory.
package quota

import (
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop/internal/list"
)

// Slots limits how many things run at the same time. A user without a slot waits in a line. A slot that becomes free goes to
// the first waiter, so that new users do not overtake those that wait. Set Limit before the first use.
type Slots struct {
	Limit int64 // must be positive

	_       [64]byte // the fields below change often, so they have a cache line of their own
	taken   atomic.Int64
	waiting atomic.Int64 // length of line

	mu   sync.Mutex
	line list.List[Waiter]
}

// Waiter is a user that can wait for slots. It may need several slots, but gets only one each time that it waits.
type Waiter struct {
	// Wake is called when the waiter has got a slot. It is called without a lock, and must not block. The waiter may have
	// left meanwhile.
	Wake func()

	// The lock of Slots guards these.
	node    list.Node[Waiter]
	waits   bool // it is in the line
	granted int  // slots that it has got and not claimed
}

// Take takes a slot. It reports false if all slots are taken.
func (s *Slots) Take() bool {
	if s.taken.Add(1) <= s.Limit {
		return true
	}
	s.Give(1) // not only a decrement: the extra slot may have kept another one from a waiter
	return false
}

// Give gives back n slots.
func (s *Slots) Give(n int) {
	s.taken.Add(-int64(n))
	if s.waiting.Load() > 0 {
		s.pass()
	}
}

// Taken returns how many slots are taken.
func (s *Slots) Taken() int64 { return s.taken.Load() }

// Wait puts w at the end of the line, unless w is in the line.
func (s *Slots) Wait(w *Waiter) {
	s.mu.Lock()
	if !w.waits {
		w.waits = true
		s.line.Push(&w.node, w)
		s.waiting.Store(int64(s.line.Len()))
	}
	s.mu.Unlock()
	s.pass() // slots given back before did not find w
}

// Claim returns how many slots w has got since the last call. They are w's from now on.
func (s *Slots) Claim(w *Waiter) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, w.granted = w.granted, 0
	return n
}

// Leave takes w out of the line, and gives back what it has got and not claimed.
func (s *Slots) Leave(w *Waiter) {
	s.mu.Lock()
	s.line.Remove(&w.node)
	s.waiting.Store(int64(s.line.Len()))
	n := w.granted
	w.waits, w.granted = false, 0
	s.mu.Unlock()
	if n > 0 {
		s.Give(n)
	}
}

// pass passes free slots on to the line.
func (s *Slots) pass() {
	for w := s.next(); w != nil; w = s.next() {
		w.Wake()
	}
}

// next takes a slot for the first waiter and returns that waiter, or nil.
func (s *Slots) next() *Waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line.Len() == 0 || !s.tryTake() {
		return nil
	}
	w := s.line.PopFirst()
	s.waiting.Store(int64(s.line.Len()))
	w.waits = false
	w.granted++
	return w
}

// tryTake is Take without an extra slot in between.
func (s *Slots) tryTake() bool {
	for n := s.taken.Load(); n < s.Limit; n = s.taken.Load() {
		if s.taken.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}
