package pool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errFull   = errors.New("full")
	errLate   = errors.New("late")
	errEnded  = errors.New("ended")
	errDial   = errors.New("no connection")
	errFailed = errors.New("dial failed")
)

// fakeConn is a connection that carries room calls.
type fakeConn struct {
	member Member
	number int // 1 for the first connection of a world
	room   int
	closed atomic.Int32 // times
	panics bool
}

func (c *fakeConn) Room() int { return c.room }

func (c *fakeConn) Close() {
	c.closed.Add(1)
	if c.panics {
		panic("close")
	}
}

// world is a pool with fake connections, in virtual time.
type world struct {
	*testing.T
	Pool
	opts  *Options
	room  int           // of new connections
	many  bool          // new connections carry several calls, see Member.Many
	takes time.Duration // that a dial needs
	fails error         // of dials
	dials atomic.Int32

	lists sync.Mutex  // guards conns, the calls, and in TestRandomCalls room and takes
	conns []*fakeConn // in the order of their dials

	kept atomic.Int32
}

// in runs f with a pool of at most two connections. Calls wait for a minute; set may change the options.
func in(t *testing.T, set func(o *Options), f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, room: 1}
		w.opts = &Options{
			Max: 2, MaxIdle: 10, MaxIdleTime: time.Hour, Wait: time.Minute,
			Dial: w.dial, Full: errFull, Late: errLate,
			Ended:      func(ctx context.Context) error { return errors.Join(errEnded, ctx.Err()) },
			DialFailed: func(err error) error { return errors.Join(errFailed, err) },
			Kept:       func(*Member) { w.kept.Add(1) },
			Janitor:    &Janitor{},
		}
		if set != nil {
			set(w.opts)
		}
		w.Init(w.opts)
		f(w)
		synctest.Wait()
		w.CloseIdle(Now())
	})
}

func (w *world) dial(ctx context.Context, _ time.Time) (*Member, error) {
	w.dials.Add(1)
	w.lists.Lock()
	c, takes, fails := &fakeConn{room: w.room}, w.takes, w.fails
	w.lists.Unlock()
	time.Sleep(takes)
	if fails != nil {
		return nil, fails
	}
	c.member.Many = w.many
	c.member.Init(c)
	w.lists.Lock()
	defer w.lists.Unlock()
	w.conns = append(w.conns, c)
	c.number = len(w.conns)
	return &c.member, nil
}

// get returns a connection without waiting, but for a dial.
func (w *world) get() *Member {
	w.Helper()
	m, err := w.Get(w.Context(), time.Time{}, false)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// call is a call for a connection on its own goroutine.
type call struct {
	m    *Member
	err  error
	took time.Duration
	over bool
}

// start begins a call, which waits when start returns unless it has a connection.
func (w *world) start(ctx context.Context, deadline time.Time, fresh bool) *call {
	c, begun := &call{}, time.Now()
	go func() {
		m, err := w.Get(ctx, deadline, fresh)
		w.lists.Lock()
		defer w.lists.Unlock()
		c.m, c.err, c.took, c.over = m, err, time.Since(begun), true
	}()
	synctest.Wait()
	return c
}

// memberOf returns the connection of a call that may still wait.
func (w *world) memberOf(c *call) *Member {
	w.lists.Lock()
	defer w.lists.Unlock()
	return c.m
}

// ended reports whether a call has ended.
func (w *world) ended(c *call) bool {
	synctest.Wait()
	w.lists.Lock()
	defer w.lists.Unlock()
	return c.over
}

func (w *world) wait() *call { return w.start(w.Context(), time.Time{}, false) }

// has checks which of the calls have ended, and with which connection: 0 for those that wait.
func (w *world) has(calls []*call, want ...int) {
	w.Helper()
	synctest.Wait()
	var got []int
	for _, c := range calls {
		if m := w.memberOf(c); m != nil {
			got = append(got, number(m))
		} else {
			got = append(got, 0)
		}
	}
	if !slices.Equal(got, want) {
		w.Errorf("the calls have connections %v, want %v", got, want)
	}
}

// counts checks the numbers of connections.
func (w *world) counts(open, idle int) {
	w.Helper()
	synctest.Wait()
	if gotOpen, gotIdle := w.Counts(); gotOpen != open || gotIdle != idle {
		w.Errorf("%d connections, %d of them idle; want %d and %d", gotOpen, gotIdle, open, idle)
	}
}

func number(m *Member) int { return m.Conn().(*fakeConn).number }

func TestIdleConnectionsAreReused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		oldest bool
		want   []int
	}{{"the one used last", false, []int{3, 3, 3, 3}}, {"the one idle longest", true, []int{1, 2, 3, 1}}} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(o *Options) { o.Max, o.Oldest = 3, tc.oldest }, func(w *world) {
				var got []int
				for _, m := range []*Member{w.get(), w.get(), w.get()} {
					if !w.Put(m) {
						t.Error("the connection is not idle")
					}
				}
				w.counts(3, 3)
				for range tc.want {
					m := w.get()
					got = append(got, number(m))
					w.Put(m)
				}
				if !slices.Equal(got, tc.want) {
					t.Errorf("connections %v, want %v", got, tc.want)
				}
			})
		})
	}
}

func TestLimits(t *testing.T) {
	t.Run("of connections", func(t *testing.T) {
		in(t, func(o *Options) { o.Wait = 0 }, func(w *world) {
			a, b := w.get(), w.get()
			if _, err := w.Get(w.Context(), time.Time{}, false); err != errFull {
				t.Errorf("a third connection: %v", err)
			}
			w.Discard(a)
			w.counts(1, 0)
			w.Put(b)
			if w.Put(w.get()); w.dials.Load() != 2 {
				t.Errorf("%d dials", w.dials.Load())
			}
		})
	})
	t.Run("of idle connections", func(t *testing.T) {
		in(t, func(o *Options) { o.MaxIdle = 1 }, func(w *world) {
			a, b := w.get(), w.get()
			w.Put(a)
			w.Put(b)
			if w.counts(1, 1); w.conns[0].closed.Load() != 1 || w.conns[1].closed.Load() != 0 {
				t.Error("the connection that was idle longest is not the one that was closed")
			}
		})
	})
	t.Run("that change", func(t *testing.T) {
		in(t, nil, func(w *world) {
			a, b := w.get(), w.get()
			calls := []*call{w.wait(), w.wait()}
			w.SetMax(3)
			w.has(calls, 3, 0)
			w.SetMax(1)
			w.Put(a)
			w.Discard(b)
			w.counts(1, 0)
			w.Put(calls[0].m)
			w.has(calls, 3, 3)
			w.Put(calls[1].m)
			w.counts(1, 1)
		})
	})
	t.Run("of waiting calls", func(t *testing.T) {
		in(t, nil, func(w *world) {
			w.get()
			w.get()
			for range maxWaiters {
				w.waiters.Push(&new(waiter).place, new(waiter))
			}
			if _, err := w.Get(w.Context(), time.Time{}, false); err != errFull {
				t.Errorf("one call too many: %v", err)
			}
		})
	})
}

// A call that needs a new connection takes the place of an idle one.
func TestFreshConnections(t *testing.T) {
	in(t, nil, func(w *world) {
		fresh := func() *call { return w.start(w.Context(), time.Time{}, true) }
		w.Put(w.get())
		calls := []*call{fresh()}
		w.has(calls, 2) // beside the idle one
		w.counts(2, 1)
		calls = append(calls, fresh())
		w.has(calls, 2, 3)
		if w.counts(2, 0); w.conns[0].closed.Load() != 1 {
			t.Error("the idle connection is open")
		}
		calls = append(calls, fresh())
		w.has(calls, 2, 3, 0)
		w.Put(calls[0].m) // is given to the call that waits, which replaces it
		w.has(calls, 2, 3, 4)
		if w.counts(2, 0); w.conns[1].closed.Load() != 1 {
			t.Error("the replaced connection is open")
		}
	})
}

// If a method of a connection panics, the connection no longer counts.
func TestCloseThatPanics(t *testing.T) {
	panics := func(t *testing.T, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		f()
	}
	in(t, func(o *Options) { o.Max = 1 }, func(w *world) {
		m := w.get()
		w.conns[0].panics = true
		panics(t, func() { w.Discard(m) })
		w.counts(0, 0)
		w.Put(w.get())
		w.conns[1].panics = true
		panics(t, func() { w.Get(w.Context(), time.Time{}, true) })
		w.counts(0, 0)
	})
}

func TestUsedAt(t *testing.T) {
	in(t, nil, func(w *world) {
		if w.UsedAt() != 0 || !w.UsedAt().Time().IsZero() {
			t.Error("a pool without connections was used")
		}
		m := w.get()
		if got := w.UsedAt().Time(); !got.Equal(time.Now()) || m.IdleAt() != 0 {
			t.Errorf("dialed at %v, idle at %v", got, m.IdleAt())
		}
		time.Sleep(time.Second)
		w.Put(m)
		time.Sleep(time.Second)
		if got, want := w.UsedAt().Time(), time.Now().Add(-time.Second); !got.Equal(want) || m.IdleAt() != w.UsedAt() {
			t.Errorf("given back at %v, want %v", got, want)
		}
	})
}

// The usual way of a call costs no memory.
func TestPoolDoesNotAllocate(t *testing.T) {
	in(t, nil, func(w *world) {
		w.Put(w.get())
		ctx := w.Context()
		if n := testing.AllocsPerRun(100, func() {
			m, _ := w.Get(ctx, time.Time{}, false)
			w.Put(m)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
