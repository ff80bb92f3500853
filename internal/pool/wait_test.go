package pool

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallsWaitInOrder(t *testing.T) {
	in(t, func(o *Options) { o.Max = 1 }, func(w *world) {
		m := w.get()
		calls := []*call{w.wait(), w.wait(), w.wait()}
		w.has(calls, 0, 0, 0)
		w.Put(m)
		w.has(calls, 1, 0, 0)
		w.Discard(calls[0].m) // the next one gets the place
		w.has(calls, 1, 2, 0)
		w.Put(calls[1].m)
		w.has(calls, 1, 2, 2)
		w.Put(calls[2].m)
		w.counts(1, 1)
	})
}

// A wait that ends does not hold up the calls behind it.
func TestWaitsThatEnd(t *testing.T) {
	for _, tc := range []struct {
		name  string
		wait  time.Duration // an option of the pool
		end   func(w *world) *call
		want  error
		after time.Duration
	}{
		{"after the longest wait", 3 * time.Second, func(w *world) *call { return w.wait() }, errFull, 3 * time.Second},
		{"at the deadline", time.Minute, func(w *world) *call {
			return w.start(w.Context(), time.Now().Add(2*time.Second), false)
		}, errLate, 2 * time.Second},
		{"at the deadline, without a longest wait", -1, func(w *world) *call {
			return w.start(w.Context(), time.Now().Add(time.Hour), false)
		}, errLate, time.Hour},
		{"with the context", time.Minute, func(w *world) *call {
			ctx, cancel := context.WithCancel(w.Context())
			time.AfterFunc(time.Second, cancel)
			return w.start(ctx, time.Time{}, false)
		}, errEnded, time.Second},
		{"at once", 0, func(w *world) *call { return w.wait() }, errFull, 0},
		{"before they begin", time.Minute, func(w *world) *call {
			return w.start(w.Context(), time.Now().Add(-1), false)
		}, errLate, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(o *Options) { o.Max, o.Wait = 1, tc.wait }, func(w *world) {
				m := w.get()
				c := tc.end(w)
				var behind *call
				if tc.wait != 0 {
					time.Sleep(tc.after - 1)
					if w.ended(c) != (tc.after == 0) {
						t.Error("the wait has ended too early")
					}
					behind = w.wait()
				}
				time.Sleep(1 + 2*waitGrain)
				if synctest.Wait(); !errors.Is(c.err, tc.want) || c.took < tc.after || c.took > tc.after+waitGrain {
					t.Errorf("%v after %v, want %v after %v", c.err, c.took, tc.want, tc.after)
				}
				if w.Put(m); behind != nil {
					w.has([]*call{behind}, 1)
				}
			})
		})
	}
}

// One timer serves waits of different lengths.
func TestWaitsOfDifferentLengths(t *testing.T) {
	in(t, func(o *Options) { o.Max = 1 }, func(w *world) {
		m := w.get()
		var calls []*call
		for _, n := range []time.Duration{30, 10, 20, 40} {
			calls = append(calls, w.start(w.Context(), time.Now().Add(n*time.Second), false))
		}
		for i, at := range []time.Duration{30, 10, 20, 40} {
			defer func() {
				if took := calls[i].took; took < at*time.Second || took > at*time.Second+waitGrain {
					t.Errorf("call %d ended after %v", i, took)
				}
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w.Put(m)
		w.counts(1, 1)
	})
}

// Idle connections that are closed while calls wait are no concern of those calls, and the place of a connection that
// leaves goes to them.
func TestCloseWhileCallsWait(t *testing.T) {
	in(t, nil, func(w *world) {
		a, b := w.get(), w.get()
		calls := []*call{w.wait(), w.wait()}
		w.CloseIdle(Now())
		w.counts(2, 0)
		w.has(calls, 0, 0)
		w.Leave() // b belongs to its call now
		w.has(calls, 3, 0)
		w.CloseIdle(Now())
		w.Discard(a)
		w.has(calls, 3, 4)
		if w.conns[0].closed.Load() != 1 || number(b) != 2 || w.conns[1].closed.Load() != 0 {
			t.Error("other connections were closed")
		}
	})
}

// If the dial of a call that was given a place fails, the next call gets the place.
func TestPlaceOfAFailedDial(t *testing.T) {
	in(t, func(o *Options) { o.Max = 1 }, func(w *world) {
		m := w.get()
		calls := []*call{w.wait(), w.wait()}
		w.fails = errDial
		w.Discard(m)
		synctest.Wait()
		for _, c := range calls {
			if !errors.Is(c.err, errFailed) || !errors.Is(c.err, errDial) {
				t.Errorf("got %v", c.err)
			}
		}
		w.counts(0, 0)
	})
}
