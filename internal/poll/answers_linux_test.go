package poll

import (
	"bytes"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// later echoes what was read from c in capitals, with Later if that is allowed.
func later(w *Worker, c *Conn, p []byte) {
	p = bytes.ToUpper(p)
	if w.MayLater() {
		w.Later(c, p, 0)
		return
	}
	_, _ = c.Write(p)
	if !c.Park(0) {
		c.HandOver()
	}
}

// received returns what arrived on c, and finishes c if it has ended.
func received(w *Worker, c *Conn) []byte {
	if w.HasAhead(c) {
		p, _, err := w.TakeAhead()
		if err == nil {
			return append([]byte(nil), p...)
		} else if err != syscall.EAGAIN {
			c.Finish()
			return nil
		}
	}
	var p [64]byte
	n, err := c.TryRead(p[:])
	switch {
	case err == nil:
		return p[:n]
	case err != syscall.EAGAIN:
		c.Finish()
	case !c.Park(0):
		c.HandOver()
	}
	return nil
}

// A worker that is overtaken between the call of Later and the end of its run sends the response itself. Bytes that
// arrived on the connection meanwhile are served afterwards.
func TestLaterWhenOvertaken(t *testing.T) {
	for name, more := range map[string]string{"": "", "with more to read": "c"} {
		t.Run("alone "+name, func(t *testing.T) {
			var goOn chan struct{}
			h := &hooks{}
			h.serve = func(w *Worker, c *Conn) {
				p := received(w, c)
				if p == nil {
					return
				}
				later(w, c, p)
				if string(p) == "ab" {
					if !w.loop.steal(w.run) {
						t.Error("there was no baton to take")
					}
					<-goOn
				}
			}
			inMemory(t, 1, h, func(r *rig) {
				goOn = make(chan struct{})
				c := r.dial()
				r.wantEcho(c, "1") // which is its own capital letter
				synctest.Wait()
				_, _ = c.Write([]byte("ab"))
				synctest.Wait()
				_, _ = c.Write([]byte(more))
				synctest.Wait()
				goOn <- struct{}{}
				wantText(t, c, "AB"+"C"[:len(more)])
				synctest.Wait()
				r.wantEcho(c, "2")
				r.close(c)
			})
		})
	}
}

// gateReads makes the next read call gate, once.
func gateReads(h *hooks) (gate *func()) {
	gate = new(func())
	h.step = func(call string, _ int) {
		if g := *gate; g != nil && call == "read" {
			*gate = nil
			g()
		}
	}
	return gate
}

// Bytes that a worker has read stay unchanged when the worker is overtaken, and the next leader serves those
// connections.
func TestAheadWhenOvertaken(t *testing.T) {
	var goOn, held, shut chan struct{}
	h := &hooks{ahead: true}
	var first *Conn
	h.serve = func(w *Worker, c *Conn) {
		if c == first {
			first = nil
			w.loop.steal(w.run)
			held <- struct{}{}
			<-goOn
		}
		if p := received(w, c); p != nil {
			later(w, c, p)
		}
	}
	var conns []*Conn
	h.added = func(_ *Worker, c *Conn, _ error) { conns = append(conns, c) }
	gate := gateReads(h)
	inMemory(t, 1, h, func(r *rig) {
		goOn, held, shut = make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
		a, b, c := r.dial(), r.dial(), r.dial()
		synctest.Wait()
		first = conns[1]
		*gate = func() { <-shut } // so that the events of the other two connections come together
		_, _ = a.Write([]byte("a"))
		synctest.Wait()
		_, _ = b.Write([]byte("bbb"))
		_, _ = c.Write([]byte("c"))
		shut <- struct{}{}
		wantText(t, a, "A")
		<-held
		wantText(t, c, "C")
		for range 3 {
			_, _ = a.Write([]byte("xxx")) // would overwrite the bytes of the other connections if that were possible
			wantText(t, a, "XXX")
		}
		goOn <- struct{}{}
		wantText(t, b, "BBB")
		r.close(a, b, c)
	})
}

// A response that the socket does not accept at once is finished by a worker off the loop.
func TestUnsent(t *testing.T) {
	h := &hooks{}
	h.serve = func(w *Worker, c *Conn) {
		if p := received(w, c); p != nil {
			later(w, c, p)
		}
	}
	inMemory(t, 1, h, func(r *rig) {
		c, other := r.dial(), r.dial()
		synctest.Wait()
		c.SetWindow(2)
		_, _ = c.Write([]byte("abcdefgh"))
		synctest.Wait()
		r.wantEcho(other, "1")
		wantText(t, c, "ABCDEFGH")
		c.SetWindow(100)
		r.wantEcho(c, "2")
		r.close(c, other)
	})
}

// If many connections must be served off the loop at once and that takes little time, few workers serve them.
func TestFewWorkersForMany(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h := &hooks{added: func(_ *Worker, c *Conn, _ error) { c.Away = true }}
	inMemory(t, 1, h, func(r *rig) {
		var conns []*wiretest.Conn
		for range 200 {
			conns = append(conns, r.dial())
		}
		synctest.Wait()
		before := r.g.workers.Load()
		for _, c := range conns {
			_, _ = c.Write([]byte("x"))
		}
		for _, c := range conns {
			wantText(t, c, "x")
		}
		synctest.Wait()
		if n := r.g.workers.Load(); n > before+50 {
			t.Errorf("%d workers for 200 connections", n)
		}
		r.close(conns...)
	})
}

// The bytes that one worker has read for another stay unchanged until they are served, even if the first worker leads
// again meanwhile.
func TestAheadWhenOvertakenTwice(t *testing.T) {
	var owner, heir, shut, goOn chan struct{}
	h := &hooks{ahead: true}
	var first, second *Conn
	h.serve = func(w *Worker, c *Conn) {
		switch c {
		case first:
			first = nil
			w.loop.steal(w.run)
			<-owner
		case second:
			second = nil
			close(owner)
			for idle := false; !idle; runtime.Gosched() { // until the worker that read them may lead again
				w.g.mu.Lock()
				idle = len(w.g.idle) > 0
				w.g.mu.Unlock()
			}
			w.loop.steal(w.run)
			close(heir)
			<-goOn
		}
		if p := received(w, c); p != nil {
			later(w, c, p)
		}
	}
	var conns []*Conn
	h.added = func(_ *Worker, c *Conn, _ error) { conns = append(conns, c) }
	gate := gateReads(h)
	inMemory(t, 1, h, func(r *rig) {
		owner, heir, shut, goOn = make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
		a, b, c := r.dial(), r.dial(), r.dial()
		synctest.Wait()
		first, second = conns[1], conns[2]
		*gate = func() { <-shut } // so that the events of the other two connections come together
		_, _ = a.Write([]byte("a"))
		synctest.Wait()
		_, _ = b.Write([]byte("b"))
		_, _ = c.Write([]byte("c"))
		shut <- struct{}{}
		wantText(t, a, "A")
		wantText(t, b, "B")
		<-heir
		_, _ = a.Write([]byte("xxx")) // would overwrite c's byte if that were possible
		wantText(t, a, "XXX")
		close(goOn)
		wantText(t, c, "C")
		r.close(a, b, c)
	})
}

// If workers are overtaken all the time, because other threads want the processors too, not every one of them leaves
// the loop with a buffer that the next worker has to allocate again.
func TestAheadIsKept(t *testing.T) {
	var slow *Conn
	var goOn chan struct{}
	used := make(map[*ahead]int)
	h := &hooks{ahead: true}
	h.serve = func(w *Worker, c *Conn) {
		if w.HasAhead(c) {
			used[w.ahead]++
		}
		if c == slow {
			w.loop.steal(w.run)
			<-goOn
		}
		if p := received(w, c); p != nil {
			later(w, c, p)
		}
	}
	var conns []*Conn
	h.added = func(_ *Worker, c *Conn, _ error) { conns = append(conns, c) }
	inMemory(t, 1, h, func(r *rig) {
		goOn = make(chan struct{})
		a, b := r.dial(), r.dial()
		synctest.Wait()
		slow = conns[0]
		const rounds = 100
		for range rounds {
			_, _ = a.Write([]byte("a"))
			synctest.Wait()
			_, _ = b.Write([]byte("b"))
			wantText(t, b, "B") // while the worker that serves a may still look at what was read
			goOn <- struct{}{}
			wantText(t, a, "A")
			synctest.Wait() // until it is parked; before that, what comes next is served off the loop
		}
		reads := 0
		for _, n := range used {
			reads += n
		}
		if len(used) > 2 || reads < 2*rounds {
			t.Errorf("%d buffers for %d reads", len(used), reads)
		}
		slow = nil
		r.close(a, b)
	})
}
