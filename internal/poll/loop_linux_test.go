package poll

import (
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// copyBack echoes what can be read, and reports whether more may come.
func copyBack(c *Conn) bool {
	var p [8]byte
	n, err := c.TryRead(p[:])
	_, _ = c.TryWrite(p[:n])
	return err == nil || err == syscall.EAGAIN
}

// Bytes that arrive while a connection is served cause no event for other workers, and keep the connection from being
// parked. Bytes that arrive later make it served again.
func TestParkAndWake(t *testing.T) {
	h := &hooks{}
	inMemory(t, 1, h, func(r *rig) {
		var served, refused counter
		release := make(chan bool)
		h.serve = func(_ *Worker, c *Conn) {
			served.Add(1)
			for {
				if !copyBack(c) {
					c.Finish()
					return
				}
				if <-release; c.Park(0) {
					return
				}
				refused.Add(1)
			}
		}
		c := r.dial()
		synctest.Wait()
		served.want(t, 1) // although nothing has arrived
		if _, err := c.Write([]byte("one")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * dogTick) // until another worker leads, which sees that
		release <- true
		wantText(t, c, "one")
		refused.want(t, 1)
		served.want(t, 1)
		release <- true
		synctest.Wait()
		if _, err := c.Write([]byte("two")); err != nil {
			t.Fatal(err)
		}
		wantText(t, c, "two")
		served.want(t, 2)
		close(release)
		synctest.Wait()
		if _, err := c.Write([]byte("three")); err != nil {
			t.Fatal(err)
		}
		wantText(t, c, "three")
		served.want(t, 3)
		refused.want(t, 1)
		r.close(c)
		served.want(t, 4) // for the end of the stream
	})
}

// A connection expires when Park said, to within a tick, and never while it is being served. Parking again sets a new
// deadline.
func TestExpiry(t *testing.T) {
	h := &hooks{idle: 10 * time.Second}
	inMemory(t, 1, h, func(r *rig) {
		expired := h.tellExpiry()
		c, begun := r.dial(), time.Now()
		for range 5 {
			time.Sleep(8 * time.Second)
			r.wantEcho(c, "still here")
			begun = time.Now()
		}
		if d := (<-expired).Sub(begun); d < 10*time.Second || d > 10*time.Second+2*wheelTick {
			t.Errorf("it expired after %v", d)
		}
		r.close(c)
	})
}

func TestExpiryEarlierThanBefore(t *testing.T) {
	h := &hooks{idle: time.Hour}
	inMemory(t, 1, h, func(r *rig) {
		expired := h.tellExpiry()
		c := r.dial()
		r.wantEcho(c, "until in an hour")
		synctest.Wait()
		h.idle = time.Minute
		begun := time.Now()
		r.wantEcho(c, "until in a minute")
		if d := (<-expired).Sub(begun); d < time.Minute || d > time.Minute+2*wheelTick {
			t.Errorf("it expired after %v", d)
		}
		r.close(c)
	})
}

// A Park that fails leaves the deadline alone: the loop does not know the new one yet.
func TestExpiryEarlierAfterParkFailed(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Hour} {
		h := &hooks{idle: idle}
		inMemory(t, 1, h, func(r *rig) {
			expired := h.tellExpiry()
			c := r.dial()
			r.wantEcho(c, "until later")
			synctest.Wait()
			h.serve = func(_ *Worker, c *Conn) {
				_, _ = c.TryRead(make([]byte, 100))
				by := Now().Add(10 * time.Second)
				if c.Kick(); c.Park(by) {
					t.Error("parked after Kick")
				}
				if !c.Park(by) {
					t.Error("not parked")
				}
			}
			begun := time.Now()
			_, _ = c.Write([]byte("x"))
			if d := (<-expired).Sub(begun); d < 10*time.Second || d > 10*time.Second+2*wheelTick {
				t.Errorf("it expired after %v", d)
			}
			r.close(c)
		})
	}
}

// A connection that is being served does not expire, and its deadline is looked at again afterwards.
func TestExpiryWaitsForWhoServes(t *testing.T) {
	h := &hooks{idle: time.Second}
	h.serve = func(_ *Worker, c *Conn) {
		time.Sleep(10 * time.Second)
		if !c.Park(Now().Add(-time.Second)) {
			t.Error("something has come")
		}
	}
	inMemory(t, 1, h, func(r *rig) {
		expired := h.tellExpiry()
		begun := time.Now()
		c := r.dial()
		if d := (<-expired).Sub(begun); d < 10*time.Second || d > 10*time.Second+recheck+2*wheelTick {
			t.Errorf("it expired after %v", d)
		}
		r.close(c)
	})
}

// If many connections expire at the same time, the loop looks for requests on other connections meanwhile.
func TestExpiryOfMany(t *testing.T) {
	for soon := range wiretest.LongerLimits(100 * time.Millisecond) {
		if expireMany(t, soon) {
			return
		}
	}
	t.Fatal("the first connections expired before the last ones were accepted")
}

// listenLocally returns a listener until the test ends.
func listenLocally(t *testing.T) net.Listener {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { at.Close() })
	return at
}

// startGroup starts a group of one loop that accepts the connections of a listener. end ends it when they are closed.
func startGroup(t *testing.T, h *hooks, at net.Listener) (g *Group, end func()) {
	t.Helper()
	g, err := NewGroup(h, 1, nil, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := at.(*net.TCPListener).SyscallConn()
	ln, err := g.Listen(raw, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g, func() {
		ln.End()
		g.Leave()
		<-g.closed
	}
}

// expireMany has connections expire at the same time, soon. It returns false if they could not be accepted before.
func expireMany(t *testing.T, soon time.Duration) bool {
	const many = 300
	at := listenLocally(t)
	by := Now().Add(soon)
	var accepted, expired, before atomic.Int64
	good, err := net.Dial("tcp", at.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	h := &hooks{}
	h.serve = func(_ *Worker, c *Conn) {
		until := by
		for {
			var p [8]byte
			n, err := c.TryRead(p[:])
			switch {
			case string(p[:n]) == "request":
				before.Store(expired.Load())
				_, _ = c.Write(p[:n])
				until = 0
			case err != nil && err != syscall.EAGAIN:
				c.Finish()
				return
			case c.Park(until):
				accepted.Add(1)
				return
			}
		}
	}
	h.expire = func(_ *Worker, c *Conn) {
		if expired.Add(1) == 1 {
			_, _ = good.Write([]byte("request"))
		}
		for start := time.Now(); time.Since(start) < 500*time.Microsecond; {
		}
		c.Finish()
	}
	_, end := startGroup(t, h, at)
	defer end()
	defer good.Close()
	_, _ = good.Write([]byte("request")) // so that it does not expire
	wantText(t, good, "request")
	for range many {
		c, err := net.Dial("tcp", at.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for accepted.Load() < many && Now() < by {
		time.Sleep(time.Millisecond)
	}
	if Now() >= by {
		t.Logf("%d connections were accepted in %v", accepted.Load(), soon)
		return false
	}
	wantText(t, good, "request")
	if n := before.Load(); n > many/4 {
		t.Errorf("a request was served after %d of %d connections had expired", n, many)
	}
	for expired.Load() < many {
		time.Sleep(time.Millisecond)
	}
	return true
}

// A loop that has nothing to do has no timer.
func TestIdleLoopsSleep(t *testing.T) {
	var waits counter
	h := &hooks{step: func(call string, _ int) {
		if call == "epoll_wait" {
			waits.Add(1)
		}
	}}
	inMemory(t, 2, h, func(r *rig) {
		c := r.dial()
		r.wantEcho(c, "x")
		time.Sleep(time.Hour) // until the watchdog and the reaper have nothing to do
		if !r.g.dogAsleep.Load() {
			t.Error("the watchdog is awake")
		}
		before := waits.Load()
		time.Sleep(time.Hour)
		if n := waits.Load() - before; n > 2*61 { // a connection that never expires is looked at once a minute
			t.Errorf("%d waits", n)
		}
		r.wantEcho(c, "y")
		r.close(c)
	})
}

// Events for a descriptor do not reach the connection that had the same descriptor before.
func TestEventsOfThoseBefore(t *testing.T) {
	inMemory(t, 1, &hooks{}, func(r *rig) {
		l := r.g.all()[0]
		c := r.dial()
		r.wantEcho(c, "x")
		synctest.Wait()
		fd, gen := -1, uint32(0)
		for f := range 2000 {
			if of := r.g.table.get(f); of != nil {
				fd, gen = f, of.gen.Load()
			}
		}
		for _, tt := range []struct {
			name  string
			event syscall.EpollEvent
			want  bool
		}{
			{"its own", syscall.EpollEvent{Events: syscall.EPOLLOUT, Fd: int32(fd), Pad: int32(gen)}, true},
			{"of another generation", syscall.EpollEvent{Events: syscall.EPOLLOUT, Fd: int32(fd), Pad: int32(gen - 1)}, false},
			{"of nobody", syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd + 1), Pad: int32(gen)}, false},
			{"of nobody, far away", syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: 1 << 20, Pad: int32(gen)}, false},
		} {
			of := r.g.table.get(fd)
			of.state.And(^uint32(writable))
			if l.ready(&tt.event) != nil {
				t.Errorf("%s: is to be served", tt.name)
			}
			if got := of.state.Load()&writable != 0; got != tt.want {
				t.Errorf("%s: noted: %v", tt.name, got)
			}
		}
		r.close(c)
	})
}

// A table grows with the descriptors and keeps its entries.
func TestTable(t *testing.T) {
	var tab table
	fds := []int{0, 5, chunkSize - 1, chunkSize, 10*chunkSize + 3}
	conns := map[int]*Conn{}
	for _, fd := range fds {
		if tab.get(fd) != nil {
			t.Errorf("%d is there", fd)
		}
		conns[fd] = &Conn{fd: int32(fd)}
		tab.put(fd, conns[fd])
	}
	for _, fd := range fds {
		if tab.get(fd) != conns[fd] {
			t.Errorf("%d is another one", fd)
		}
		tab.clear(fd)
		if tab.get(fd) != nil {
			t.Errorf("%d is there still", fd)
		}
	}
}

// New connections go to the loop with the fewest.
func TestBalance(t *testing.T) {
	inMemory(t, 3, &hooks{}, func(r *rig) {
		var conns []*wiretest.Conn
		for range 100 {
			c := r.dial()
			r.wantEcho(c, "x")
			conns = append(conns, c)
		}
		if n := r.spread(); slices.Max(n)-slices.Min(n) > 1 {
			t.Errorf("%v", n)
		}
		r.close(conns[:50]...)
		conns = conns[50:]
		for range 50 { // all at once
			conns = append(conns, r.dial())
		}
		for _, c := range conns {
			r.wantEcho(c, "y")
		}
		if n := r.spread(); slices.Max(n)-slices.Min(n) > 1 {
			t.Errorf("%v, after some had gone", n)
		}
		r.close(conns...)
		if n := r.spread(); slices.Max(n) != 0 {
			t.Errorf("%v, after all had gone", n)
		}
	})
}
