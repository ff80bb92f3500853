package pool

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestJanitorClosesIdleConnections(t *testing.T) {
	in(t, func(o *Options) { o.MaxIdleTime = 10 * time.Second }, func(w *world) {
		a, b := w.get(), w.get()
		w.Put(a)
		time.Sleep(5 * time.Second)
		w.Put(b)
		time.Sleep(5*time.Second - 1)
		w.counts(2, 2)
		time.Sleep(time.Nanosecond)
		w.counts(1, 1)
		if w.conns[0].closed.Load() != 1 { // was idle for longer
			t.Error("the other connection was closed")
		}
		time.Sleep(5*time.Second - 1)
		w.counts(1, 1)
		w.Put(w.get())
		time.Sleep(10*time.Second - 1)
		w.counts(1, 1)
		time.Sleep(time.Nanosecond)
		w.counts(0, 0)
		w.checkJanitor(0)
		w.Put(w.get())
		w.checkJanitor(1)
		time.Sleep(10 * time.Second)
		w.counts(0, 0)
		w.checkJanitor(0)
	})
}

// checkJanitor checks how many pools the janitor watches.
func (w *world) checkJanitor(pools int) {
	w.Helper()
	synctest.Wait()
	j := w.opts.Janitor
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.pools) != pools || j.due.IsZero() != (pools == 0) {
		w.Errorf("the janitor watches %d pools and is due at %v, want %d pools", len(j.pools), j.due, pools)
	}
}

// A connection in use does not expire.
func TestJanitorLeavesConnectionsInUse(t *testing.T) {
	in(t, func(o *Options) { o.MaxIdleTime = time.Second }, func(w *world) {
		w.room = 2
		a, b := w.get(), w.get()
		w.Put(a)
		time.Sleep(time.Minute)
		w.counts(1, 0)
		w.Put(b)
		time.Sleep(time.Second)
		w.counts(0, 0)
	})
}

func TestJanitorForgetsPools(t *testing.T) {
	for _, idleTime := range []time.Duration{0, time.Minute} {
		var unused atomic.Bool
		var asked atomic.Int32
		in(t, func(o *Options) {
			o.MaxIdleTime = idleTime
			o.Forget = func() bool { asked.Add(1); return unused.Load() }
		}, func(w *world) {
			w.opts.Janitor.Watch(&w.Pool)
			w.Put(w.get())
			time.Sleep(time.Minute - 1)
			w.checkJanitor(1)
			w.counts(1, 1)
			time.Sleep(2 * time.Minute)
			if idleTime == 0 {
				w.counts(1, 1) // forever
				w.CloseIdle(Now())
				time.Sleep(lazySweep)
			}
			if w.counts(0, 0); asked.Load() == 0 {
				t.Error("the janitor did not ask whether the pool is used")
			}
			w.checkJanitor(1)
			unused.Store(true)
			time.Sleep(time.Minute)
			w.checkJanitor(0)
		})
	}
}

// Without a limit on idle connections, there is nothing to do.
func TestJanitorWithoutLimit(t *testing.T) {
	in(t, func(o *Options) { o.MaxIdleTime = 0 }, func(w *world) {
		w.Put(w.get())
		w.checkJanitor(0)
		time.Sleep(1000 * time.Hour)
		w.counts(1, 1)
	})
}
