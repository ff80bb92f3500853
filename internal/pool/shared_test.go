package pool

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Connections with room for three calls are filled one after the other.
func TestRoomForSeveralCalls(t *testing.T) {
	in(t, nil, func(w *world) {
		w.room = 3
		var calls []*call
		for range 8 {
			calls = append(calls, w.wait())
		}
		w.has(calls, 1, 1, 1, 2, 2, 2, 0, 0)
		w.counts(2, 0)
		if w.Put(calls[4].m) {
			t.Error("a connection with calls is idle")
		}
		w.has(calls, 1, 1, 1, 2, 2, 2, 2, 0)
		w.Put(calls[0].m)
		w.has(calls, 1, 1, 1, 2, 2, 2, 2, 1)
		for _, c := range calls[1:4] {
			w.Put(c.m)
		}
		w.counts(2, 0)
		for _, c := range calls[5:] {
			w.Put(c.m)
		}
		w.counts(2, 2)
	})
}

// Calls that wait for dials share the first connection.
func TestDialForSeveralCalls(t *testing.T) {
	in(t, func(o *Options) { o.Max = 4 }, func(w *world) {
		w.room, w.takes = 3, time.Second
		first := w.wait()
		time.Sleep(time.Second / 2)
		calls := []*call{first, w.wait(), w.wait(), w.wait()}
		time.Sleep(time.Second / 2)
		w.has(calls, 1, 1, 1, 0)
		time.Sleep(time.Second / 2)
		w.counts(4, 2)
		if calls[3].m == nil || number(calls[3].m) == 1 || w.kept.Load() != 2 {
			t.Errorf("the last call has %v; %d connections were kept, want 2", calls[3].m, w.kept.Load())
		}
	})
}

// A connection can get more or less room while calls use it.
func TestRoomChanges(t *testing.T) {
	in(t, func(o *Options) { o.Max = 1 }, func(w *world) {
		calls := []*call{w.wait(), w.wait(), w.wait()}
		w.has(calls, 1, 0, 0)
		change := func(room int) {
			w.conns[0].room = room
			w.RoomChanged(&w.conns[0].member)
		}
		change(2)
		w.has(calls, 1, 1, 0)
		change(1)
		w.Put(calls[0].m)
		w.has(calls, 1, 1, 0) // still one call
		change(0)
		w.has(calls, 1, 1, 0)
		if w.conns[0].closed.Load() != 0 {
			t.Error("the connection was closed under a call")
		}
		w.Put(calls[1].m)
		if w.has(calls, 1, 1, 2); w.conns[0].closed.Load() != 1 {
			t.Error("the connection without room is open")
		}
		w.Put(calls[2].m)
		w.conns[1].room = 0
		w.RoomChanged(&w.conns[1].member)
		if w.counts(0, 0); w.conns[1].closed.Load() != 1 {
			t.Error("the idle connection without room is open")
		}
	})
}

// A connection that broke leaves once, and the calls that still use it end without it.
func TestSharedConnectionThatBreaks(t *testing.T) {
	in(t, func(o *Options) { o.Max = 1 }, func(w *world) {
		w.room = 3
		a, b, c := w.get(), w.get(), w.get()
		waits := []*call{w.wait()}
		w.Discard(a)
		w.has(waits, 2)
		w.Discard(b)
		w.Put(c)
		if w.counts(1, 0); w.conns[0].closed.Load() != 1 {
			t.Errorf("the connection was closed %d times", w.conns[0].closed.Load())
		}
		if m := w.get(); number(m) != 2 {
			t.Errorf("a call got connection %d", number(m))
		}
	})
}

// A call that needs a fresh connection does not take one away from other calls.
func TestFreshConnectionBesideSharedOnes(t *testing.T) {
	in(t, func(o *Options) { o.Max = 1 }, func(w *world) {
		w.room = 2
		a, b := w.get(), w.get()
		calls := []*call{w.start(w.Context(), time.Time{}, true), w.wait()}
		w.Put(a)
		w.has(calls, 0, 1)
		w.Put(b)
		w.has(calls, 0, 1)
		w.Put(calls[1].m)
		if w.has(calls, 2, 1); w.conns[0].closed.Load() != 1 {
			t.Error("the replaced connection is open")
		}
	})
}

// A shared connection above the limit takes no further calls, and is closed after its last call.
func TestSharedConnectionAboveTheLimit(t *testing.T) {
	in(t, nil, func(w *world) {
		w.room = 2
		a, b, c := w.get(), w.get(), w.get()
		w.SetMax(1)
		w.Put(b)
		calls := []*call{w.wait(), w.wait()}
		w.has(calls, 2, 0) // the first connection has room, but is one too many
		w.Put(a)
		if w.counts(1, 0); w.conns[0].closed.Load() != 1 {
			t.Error("the connection above the limit is open")
		}
		w.Put(c)
		w.has(calls, 2, 2)
		w.Put(calls[0].m)
		w.Put(calls[1].m)
		w.counts(1, 1)
	})
}

// Any sequence of operations keeps the limits, and in the end all connections are idle.
func TestRandomCalls(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		var shared atomic.Bool
		in(t, func(o *Options) {
			o.Max, o.MaxIdle, o.Wait = 1+r.IntN(4), 1+r.IntN(4), -1
			if seed%2 == 1 {
				o.Shared = shared.Load
			}
		}, func(w *world) {
			limit := w.opts.Max
			var calls []*call
			for range 400 {
				w.change(1+r.IntN(3), time.Duration(r.IntN(3))*time.Millisecond)
				shared.Store(r.IntN(8) > 0)
				switch i := r.IntN(len(calls) + 1); {
				case i == len(calls) || len(calls) < 3:
					calls = append(calls, w.start(w.Context(), time.Time{}, r.IntN(5) == 0))
					time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
				case w.memberOf(calls[i]) != nil:
					if r.IntN(4) == 0 {
						w.Discard(calls[i].m)
					} else {
						w.Put(calls[i].m)
					}
					calls = append(calls[:i], calls[i+1:]...)
				case r.IntN(3) == 0:
					w.CloseIdle(Now())
				}
				w.check(limit)
			}
			for len(calls) > 0 {
				time.Sleep(time.Second)
				synctest.Wait()
				n := len(calls)
				for i := 0; i < len(calls); i++ {
					if w.memberOf(calls[i]) != nil {
						w.Put(calls[i].m)
						calls = append(calls[:i], calls[i+1:]...)
						i--
						synctest.Wait() // another call may have it
					}
				}
				if len(calls) == n {
					t.Fatalf("seed %d: %d calls wait forever", seed, n)
				}
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if open, idle := w.Counts(); open != idle || open > limit || w.leading != 0 {
				t.Fatalf("seed %d: %d connections, %d of them idle, %d lead", seed, open, idle, w.leading)
			}
		})
	}
}

// change changes the room of new connections, and how long their dials take.
func (w *world) change(room int, takes time.Duration) {
	w.lists.Lock()
	defer w.lists.Unlock()
	w.room, w.takes = room, takes
}

// check compares the lists and counts of the pool with its connections.
func (w *world) check(limit int) {
	w.Helper()
	synctest.Wait()
	w.lists.Lock()
	defer w.lists.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	live, idle, shared := 0, 0, 0
	for _, c := range w.conns {
		m := &c.member
		if m.calls > m.room && m.room != gone {
			w.Fatalf("%d calls on a connection with room for %d", m.calls, m.room)
		}
		if (m.room == gone) != (c.closed.Load() == 1) {
			w.Fatalf("room is %d, closed %d times", m.room, c.closed.Load())
		}
		switch {
		case m.room == gone:
			continue
		case m.calls == 0:
			idle++
		case m.calls < m.room:
			shared++
		}
		live++
	}
	if w.open < live || w.open > limit || w.idle.Len() != idle || w.shared.Len() != shared {
		w.Fatalf("%d open, %d idle, %d shared; want at least %d and at most %d, %d, %d",
			w.open, w.idle.Len(), w.shared.Len(), live, limit, idle, shared)
	}
	if w.waiters.Len() > 0 && w.leading == 0 && (w.open < limit || idle > 0) {
		w.Fatalf("%d calls wait beside %d of %d connections, %d of them idle", w.waiters.Len(), w.open, limit, idle)
	}
}
