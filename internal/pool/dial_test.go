package pool

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A call takes a connection that becomes idle during its dial. The new connection is kept.
func TestConnectionDuringADial(t *testing.T) {
	in(t, nil, func(w *world) {
		m := w.get()
		w.takes = time.Minute
		calls := []*call{w.wait()}
		time.Sleep(time.Second)
		w.Put(m)
		w.has(calls, 1)
		if calls[0].took != time.Second {
			t.Errorf("after %v", calls[0].took)
		}
		w.counts(2, 0)
		time.Sleep(time.Minute)
		if w.counts(2, 1); w.kept.Load() != 1 || w.conns[1].member.Uses != 1 {
			t.Errorf("%d connections kept, used %d times", w.kept.Load(), w.conns[1].member.Uses)
		}
	})
}

// A loyal call waits for its own dial.
func TestLoyalCalls(t *testing.T) {
	in(t, func(o *Options) { o.Loyal = true }, func(w *world) {
		m := w.get()
		w.takes = time.Minute
		calls := []*call{w.wait()}
		w.Put(m)
		w.has(calls, 0)
		time.Sleep(time.Minute)
		w.has(calls, 2)
	})
}

// A dial that goes on when its call has ended no longer counts. Its connection is kept if there is a place.
func TestDialThatOutlivesItsCall(t *testing.T) {
	for _, tc := range []struct {
		name    string
		maxIdle int
		fails   error
		busy    bool // another call has the place
		open    int
	}{
		{"its connection is kept", 1, nil, false, 1},
		{"its connection is closed, as all are", 0, nil, false, 0},
		{"its connection is one too many", 1, nil, true, 1},
		{"it fails", 1, errDial, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(o *Options) { o.Max, o.MaxIdle = 1, tc.maxIdle }, func(w *world) {
				w.takes, w.fails = time.Minute, tc.fails
				ended := w.start(w.Context(), time.Now().Add(time.Second), false)
				time.Sleep(time.Second)
				if synctest.Wait(); !errors.Is(ended.err, errEnded) || !errors.Is(ended.err, errFailed) || ended.took != time.Second {
					t.Errorf("%v after %v", ended.err, ended.took)
				}
				w.counts(0, 0)
				if tc.busy {
					w.takes = 0
					w.get()
				}
				time.Sleep(time.Hour / 2)
				idle := tc.open
				if tc.busy {
					idle = 0
				}
				w.counts(tc.open, idle)
			})
		})
	}
}

// The end of a call cancels its dial. The call has the error of its context even if the cancelled dial fails at once.
func TestCancelledDial(t *testing.T) {
	for _, deadline := range []time.Duration{0, time.Second} {
		var dial atomic.Value // its context
		dialErr := func() error { return dial.Load().(context.Context).Err() }
		in(t, func(o *Options) {
			o.Dial = func(ctx context.Context, _ time.Time) (*Member, error) {
				dial.Store(ctx)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			ended := o.Ended
			o.Ended = func(ctx context.Context) error {
				if err := dialErr(); err != nil {
					t.Errorf("the dial ended before the call: %v", err)
				}
				return ended(ctx)
			}
		}, func(w *world) {
			ctx, cancel := context.WithCancel(w.Context())
			var until time.Time
			if deadline > 0 {
				until = time.Now().Add(deadline)
			} else {
				time.AfterFunc(time.Second, cancel)
			}
			c := w.start(ctx, until, false)
			time.Sleep(time.Second)
			if !w.ended(c) || !errors.Is(c.err, errEnded) || dialErr() == nil {
				t.Errorf("error %v, the dial: %v", c.err, dialErr())
			}
			w.counts(0, 0)
			cancel()
		})
	}
}

// A panic during a dial reaches the call, and the end of the goroutine too if the call cannot return an error.
func TestDialThatDoesNotReturn(t *testing.T) {
	in(t, func(o *Options) {
		o.Dial = func(context.Context, time.Time) (*Member, error) { panic("boom") }
	}, func(w *world) {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("recovered %v", v)
			}
			w.counts(0, 0)
		}()
		w.Get(w.Context(), time.Time{}, false)
	})
	in(t, func(o *Options) {
		o.Dial = func(context.Context, time.Time) (*Member, error) { runtime.Goexit(); return nil, nil }
	}, func(w *world) {
		if _, err := w.Get(w.Context(), time.Time{}, false); !errors.Is(err, errFailed) {
			t.Errorf("got %v", err)
		}
		c := w.start(context.Background(), time.Time{}, false)
		if w.ended(c) {
			t.Errorf("the goroutine of the call goes on: %v", c.err)
		}
		w.counts(0, 0)
	})
}
