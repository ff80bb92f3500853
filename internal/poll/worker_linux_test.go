package poll

import (
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// orders runs f on connections that send "!" first; other connections echo.
func orders(h *hooks, f func(w *Worker, c *Conn)) func(*Worker, *Conn) {
	return func(w *Worker, c *Conn) {
		var p [1]byte
		if n, _ := c.TryRead(p[:]); n == 0 || p[0] != '!' {
			_, _ = c.TryWrite(p[:n])
			h.echo(c)
			return
		}
		f(w, c)
	}
}

// If the leader of a loop waits, takes too long or ends, another worker follows it. That happens at once if the
// leader waits for its connection, and in the other cases when the watchdog has seen the same run twice.
func TestBaton(t *testing.T) {
	for _, tt := range []struct {
		name   string
		do     func(w *Worker, c *Conn)
		after  time.Duration // until others are served
		stolen uint64
	}{
		{"waits to read", func(_ *Worker, c *Conn) { _, _ = c.Read(make([]byte, 1)); c.Finish() }, 0, 0},
		{"waits to write", func(_ *Worker, c *Conn) { _, _ = c.Write(make([]byte, 1000)); c.Finish() }, 0, 0},
		{"sleeps", func(_ *Worker, c *Conn) { time.Sleep(time.Second); c.Finish() }, 3 * dogTick, 1},
		{"sleeps, and then waits", func(_ *Worker, c *Conn) { time.Sleep(time.Second); _, _ = c.Read(make([]byte, 1)); c.Finish() }, 3 * dogTick, 1},
		{"leaves, and sleeps", func(w *Worker, c *Conn) { w.Leave(); w.Leave(); time.Sleep(time.Second); c.Finish() }, 0, 0},
		{"ends its goroutine", func(_ *Worker, c *Conn) { defer c.Finish(); runtime.Goexit() }, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &hooks{}
			inMemory(t, 1, h, func(r *rig) {
				var led, leads atomic.Bool
				h.serve = orders(h, func(w *Worker, c *Conn) {
					led.Store(w.Leads())
					defer func() { leads.Store(w.Leads()) }()
					tt.do(w, c)
				})
				slow, other := r.dial(), r.dial()
				slow.SetWindow(100)
				r.wantEcho(slow, "x")
				r.wantEcho(other, "x")
				synctest.Wait()
				if _, err := slow.Write([]byte("!")); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				synctest.Wait()
				_, _ = other.Write([]byte("y"))
				wantText(t, other, "y")
				if d := time.Since(begun); d > tt.after {
					t.Errorf("another one was served after %v", d)
				}
				time.Sleep(2 * time.Second)
				r.wantEcho(other, "z")
				r.close(slow, other)
				if !led.Load() {
					t.Error("it did not lead")
				}
				if leads.Load() && tt.name != "ends its goroutine" {
					t.Error("it leads still")
				}
				if n := r.g.Stats().Overtaken; n != tt.stolen {
					t.Errorf("%d batons taken", n)
				}
				if n := r.g.away.Load(); n != 0 {
					t.Errorf("%d workers are away", n)
				}
			})
		})
	}
}

// The baton changes hands exactly once, however many workers want it at the same time.
func TestBatonIsTakenOnce(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		var taken, leaders counter
		h.serve = orders(h, func(w *Worker, c *Conn) {
			done := make(chan struct{})
			for range 20 {
				go func() {
					if c.led.Load().steal(w.run) {
						taken.Add(1)
					}
					done <- struct{}{}
				}()
			}
			for range 20 {
				<-done
			}
			if w.Leads() {
				leaders.Add(1)
			}
			c.Finish()
		})
		for range 100 {
			c := r.dial()
			if _, err := c.Write([]byte("!")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			r.close(c)
		}
		taken.want(t, 100)
		leaders.want(t, 0)
	})
}

// Workers that have had nothing to do for long end, and all workers end with the group.
func TestIdleWorkersEnd(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		h.serve = orders(h, func(_ *Worker, c *Conn) { time.Sleep(time.Minute); c.Finish() })
		var conns []*wiretest.Conn
		for range 50 {
			c := r.dial()
			_, _ = c.Write([]byte("!"))
			conns = append(conns, c)
		}
		time.Sleep(30 * time.Second)
		if n := r.g.workers.Load(); n != 51 {
			t.Errorf("%d workers for 50 connections and a loop", n)
		}
		time.Sleep(time.Minute)
		if n := r.g.workers.Load(); n != 1 {
			t.Errorf("%d workers after a minute", n)
		}
		r.close(conns...)
	})
}

// Data passed to Hand is processed off the loops, by a worker that knows it does not lead.
func TestHand(t *testing.T) {
	inMemory(t, 1, &hooks{}, func(r *rig) {
		done := make(chan bool)
		r.g.Hand(func(w *Worker) {
			if w.Group() != r.g || !w.Now().Equal(time.Now()) {
				t.Error("it does not know its group, or the time")
			}
			done <- w.Leads()
		})
		if <-done {
			t.Error("it leads")
		}
		r.g.Hand(func(*Worker) { runtime.Goexit() })
		synctest.Wait()
		if n := r.g.away.Load(); n != 0 {
			t.Errorf("%d workers are away", n)
		}
	})
}

// Kick has a connection served on its loop although nothing has arrived, unless the connection is being served already.
func TestKick(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		conns := make(chan *Conn, 1)
		h.added = func(_ *Worker, c *Conn, _ error) { conns <- c }
		client := r.dial()
		c := <-conns
		r.wantEcho(client, "x")
		synctest.Wait()
		var led, kicked counter
		h.serve = func(w *Worker, c *Conn) {
			if kicked.Add(1); w.Leads() {
				led.Add(1)
			}
			c.Kick() // once, the serving worker finds it readable
			if c.Park(0) {
				t.Error("the kick is lost")
			}
			h.echo(c)
		}
		c.Kick()
		synctest.Wait()
		kicked.want(t, 1)
		led.want(t, 1)
		h.serve = nil
		r.wantEcho(client, "y")
		r.close(client)
		c.Kick() // while nothing serves it
		synctest.Wait()
	})
}

// A loop that has many kicked connections to serve looks at events in between.
func TestEventsBetweenKicks(t *testing.T) {
	const n = 200
	var kicking atomic.Bool
	var kicked, before counter
	conns, ended := make(chan *Conn, 1), make(chan struct{}, n)
	var other net.Conn // not kicked
	h := &hooks{added: func(_ *Worker, c *Conn, _ error) { conns <- c }}
	h.serve = func(w *Worker, c *Conn) {
		var p [8]byte
		switch m, err := c.TryRead(p[:]); {
		case !kicking.Load() || err != syscall.EAGAIN:
			before.Store(kicked.Load())
			_, _ = c.TryWrite(p[:max(m, 0)])
			h.echo(c)
		case kicked.Add(1) == 1:
			_, _ = other.Write([]byte("x"))
			fallthrough
		default:
			for end := Now().Add(100 * time.Microsecond); Now() < end; {
			}
			h.echo(c)
			ended <- struct{}{}
		}
	}
	at := listenLocally(t)
	_, end := startGroup(t, h, at)
	t.Cleanup(end)
	var idle []*Conn
	for range n + 1 {
		var err error
		if other, err = net.Dial("tcp", at.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		idle = append(idle, <-conns)
		_, _ = other.Write([]byte("first"))
		wantText(t, other, "first")
	}
	for _, c := range idle {
		for c.state.Load()&busy != 0 { // the worker that has echoed may not have parked it yet
			time.Sleep(time.Millisecond)
		}
	}
	kicking.Store(true)
	for _, c := range idle[:n] {
		c.Kick()
	}
	wantText(t, other, "x")
	for range n {
		<-ended
	}
	if k := before.Load(); k < 1 || k > n/2 {
		t.Errorf("%d of %d kicked connections were served before an event", k, n)
	}
}

// The handler is told once about a worker that takes long after the watchdog took the baton, when that is certain.
func TestOverdue(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(w *Worker)
		told int32
	}{
		{"for long", func(*Worker) { time.Sleep(time.Hour) }, 1},
		{"not for long", func(*Worker) { time.Sleep(overdue / 2) }, 0},
		{"it says that it is done", func(w *Worker) {
			time.Sleep(overdue / 2)
			if w.Done() {
				t.Error("it was said not to be done")
			}
			time.Sleep(time.Hour)
		}, 0},
		{"it says so too late", func(w *Worker) {
			time.Sleep(2 * overdue)
			if !w.Done() {
				t.Error("it was not said not to be done")
			}
		}, 1},
		{"its goroutine has ended", func(*Worker) { time.Sleep(overdue / 2); runtime.Goexit() }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &hooks{}
			inMemory(t, 1, h, func(r *rig) {
				var told counter
				h.overdue = func(what uint32) {
					if told.Add(1); what != 7 {
						t.Errorf("told of %d", what)
					}
				}
				h.serve = orders(h, func(w *Worker, c *Conn) {
					defer c.Finish()
					w.Count(7)
					tt.do(w)
				})
				other := r.dial()
				for range 3 { // including a worker that was overtaken before
					c := r.dial()
					synctest.Wait()
					before := told.Load()
					if _, err := c.Write([]byte("!")); err != nil {
						t.Fatal(err)
					}
					time.Sleep(overdue + 4*dogTick)
					r.wantEcho(other, "x")
					if n := told.Load() - before; n != tt.told {
						t.Errorf("told %d times", n)
					}
					time.Sleep(2 * time.Hour)
					told.want(t, before+tt.told)
					r.close(c)
				}
				r.close(other)
				if n := r.g.Stats().Counted; n != 3 {
					t.Errorf("%d counted", n)
				}
			})
		})
	}
}
