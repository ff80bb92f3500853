package pool

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// shares sets the options of a pool of at most three connections that carry several calls. Calls do not wait at the limit.
func shares(o *Options) {
	o.Max, o.Wait = 3, 0
	o.Shared = func() bool { return true }
}

// Many calls that begin together share one dial, and then its connection.
func TestFollowers(t *testing.T) {
	in(t, shares, func(w *world) {
		w.room, w.takes = 10, time.Second
		calls := []*call{w.wait(), w.wait(), w.wait()}
		w.counts(1, 0)
		time.Sleep(time.Second)
		w.has(calls, 1, 1, 1)
		if n := w.dials.Load(); n != 1 {
			t.Errorf("%d dials", n)
		}
		for _, c := range calls {
			w.Put(c.m)
		}
		w.counts(1, 1)
	})
}

// Calls for which the connection has no room dial the next one, in their order and up to the limit. Beyond that they fail, if
// they may not wait.
func TestFollowersWithoutRoom(t *testing.T) {
	in(t, shares, func(w *world) {
		w.room, w.takes = 2, time.Second
		var calls []*call
		for range 7 {
			calls = append(calls, w.wait())
		}
		time.Sleep(time.Second)
		w.has(calls, 1, 1, 0, 0, 0, 0, 0)
		w.counts(2, 0)
		time.Sleep(time.Second)
		w.has(calls, 1, 1, 2, 2, 0, 0, 0)
		time.Sleep(time.Second)
		w.has(calls, 1, 1, 2, 2, 3, 3, 0)
		if w.counts(3, 0); calls[6].err != errFull || calls[6].took != 3*time.Second {
			t.Errorf("%v after %v", calls[6].err, calls[6].took)
		}
	})
}

// If a connection carries one call after all, the other calls dial at the same time.
func TestFollowersOfAnExclusiveConnection(t *testing.T) {
	var exclusive atomic.Bool
	in(t, func(o *Options) {
		shares(o)
		o.Shared = func() bool { return !exclusive.Load() }
	}, func(w *world) {
		w.takes = time.Second
		calls := []*call{w.wait(), w.wait(), w.wait(), w.wait()}
		exclusive.Store(true)
		time.Sleep(time.Second)
		w.has(calls, 1, 0, 0, 0)
		if w.counts(3, 0); calls[3].err != errFull {
			t.Error(calls[3].err)
		}
		time.Sleep(time.Second)
		if w.ended(calls[1]); calls[1].m == nil || calls[2].m == nil || calls[1].took != 2*time.Second || calls[2].took != 2*time.Second {
			t.Error(calls[1], calls[2])
		}
	})
}

// Followers fail with the dial, unless it fails because its own call has ended.
func TestFollowersOfADialThatFails(t *testing.T) {
	in(t, shares, func(w *world) {
		w.takes, w.fails = time.Second, errDial
		calls := []*call{w.wait(), w.wait(), w.wait()}
		time.Sleep(time.Second)
		for _, c := range calls {
			if !w.ended(c) || !errors.Is(c.err, errDial) || !errors.Is(c.err, errFailed) || c.took != time.Second {
				t.Errorf("%v after %v", c.err, c.took)
			}
		}
		w.counts(0, 0)
	})
	for _, end := range []string{"deadline", "context"} {
		in(t, shares, func(w *world) {
			w.room, w.takes = 10, 2*time.Second
			ctx, cancel := context.WithCancel(w.Context())
			var deadline time.Time
			if end == "deadline" {
				deadline = time.Now().Add(time.Second)
			} else {
				time.AfterFunc(time.Second, cancel)
			}
			leader := w.start(ctx, deadline, false)
			calls := []*call{w.wait(), w.wait()}
			time.Sleep(time.Second)
			if !w.ended(leader) || !errors.Is(leader.err, errEnded) {
				t.Error(leader.err)
			}
			w.has(calls, 0, 0)
			w.counts(1, 0)          // the first follower dials
			time.Sleep(time.Second) // the first connection gets ready nevertheless
			w.has(calls, 1, 1)
			time.Sleep(time.Second)
			w.counts(2, 1)
			cancel()
		})
	}
}

// A follower ends on time, and is not counted anywhere afterwards.
func TestFollowersThatEnd(t *testing.T) {
	in(t, shares, func(w *world) {
		w.room, w.takes = 10, time.Minute
		leader := w.wait()
		follower := w.start(w.Context(), time.Now().Add(time.Second), false)
		time.Sleep(time.Second)
		if !w.ended(follower) || follower.err != errLate || follower.took != time.Second {
			t.Errorf("%v after %v", follower.err, follower.took)
		}
		time.Sleep(time.Minute)
		w.has([]*call{leader}, 1)
		w.Put(leader.m)
		w.counts(1, 1)
		if w.leading != 0 || w.waiters.Len() != 0 {
			t.Error(w.leading, w.waiters.Len())
		}
	})
}

// A call that needs a fresh connection follows none, and none follows it.
func TestFreshCallsDoNotFollow(t *testing.T) {
	in(t, shares, func(w *world) {
		w.room, w.takes = 10, time.Second
		calls := []*call{w.start(w.Context(), time.Time{}, true), w.wait(), w.start(w.Context(), time.Time{}, true)}
		w.counts(3, 0)
		time.Sleep(time.Second)
		for _, c := range calls {
			if w.ended(c); c.took != time.Second {
				t.Errorf("after %v", c.took)
			}
			w.Put(c.m)
		}
		w.counts(3, 3)
	})
}

// Calls of a strict pool wait for room on a connection that carries several calls. They dial when there is none that accepts calls.
func TestStrict(t *testing.T) {
	in(t, func(o *Options) {
		shares(o)
		o.Strict = true
	}, func(w *world) {
		w.room, w.many, w.takes = 2, true, time.Second
		var calls []*call
		for range 6 {
			calls = append(calls, w.wait())
		}
		time.Sleep(time.Minute)
		w.has(calls, 1, 1, 0, 0, 0, 0)
		w.counts(1, 0)
		w.Put(calls[0].m)
		w.has(calls, 1, 1, 1, 0, 0, 0)
		w.conns[0].room = 0
		w.RoomChanged(calls[1].m)
		time.Sleep(time.Second)
		w.has(calls, 1, 1, 1, 2, 2, 0)
		w.Put(calls[1].m)
		w.Put(calls[2].m)
		w.counts(1, 0)
		w.Discard(calls[3].m)
		time.Sleep(time.Second)
		w.has(calls, 1, 1, 1, 2, 2, 3)
		w.counts(1, 0)
	})
}
