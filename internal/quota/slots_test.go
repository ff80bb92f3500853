package quota

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// A free slot goes to the first waiter, and not to a new user.
func TestSlotsInLine(t *testing.T) {
	s := Slots{Limit: 2}
	var woken []string
	waiter := func(name string) *Waiter {
		return &Waiter{Wake: func() { woken = append(woken, name) }}
	}
	a, b, c := waiter("a"), waiter("b"), waiter("c")
	for i := range 3 {
		if ok := s.Take(); ok != (i < 2) {
			t.Fatalf("slot %d of 2: %v", i, ok)
		}
	}
	for _, w := range []*Waiter{a, b, c, a} {
		s.Wait(w)
	}
	s.Leave(b)
	s.Give(1)
	if s.Take() || s.Claim(c) != 0 || s.Claim(a) != 1 || s.Claim(a) != 0 || !slices.Equal(woken, []string{"a"}) {
		t.Errorf("woken: %q", woken)
	}
	s.Give(1)
	s.Leave(c) // without a claim
	if !s.Take() || s.Take() {
		t.Error("the slot of a waiter that has left is not free")
	}
	s.Give(2)
	s.Wait(b)
	if s.Claim(b) != 1 || !slices.Equal(woken, []string{"a", "c", "b"}) {
		t.Errorf("a slot is free, and was not passed on; woken: %q", woken)
	}
}

// Users that take, wait and leave at the same time never exceed the limit, lose no slot, and leave no waiter alone.
func TestSlotsTogether(t *testing.T) {
	const limit, users, rounds = 3, 12, 3000
	s := Slots{Limit: limit}
	var running, most atomic.Int64
	use := func() {
		n := running.Add(1)
		for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
		}
		running.Add(-1)
		s.Give(1)
	}
	var group sync.WaitGroup
	for user := range users {
		group.Go(func() {
			w, woken := newWaiter()
			for round := range rounds {
				if s.Take() {
					use()
					continue
				}
				s.Wait(w)
				if (user+round)%7 == 0 {
					s.Leave(w)
					w, woken = newWaiter() // the old one may still be woken
					continue
				}
				<-woken
				for range s.Claim(w) {
					use()
				}
			}
		})
	}
	group.Wait()
	if most.Load() > limit || s.taken.Load() != 0 || s.waiting.Load() != 0 {
		t.Errorf("%d at a time, %d taken and %d waiting at the end", most.Load(), s.taken.Load(), s.waiting.Load())
	}
}

func newWaiter() (w *Waiter, woken chan struct{}) {
	woken = make(chan struct{}, 1)
	return &Waiter{Wake: func() { woken <- struct{}{} }}, woken
}
