package poll

import (
	"io"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// Connections leave the queue in their order, and a queue that is never empty takes no more memory for that.
func TestAgainQueue(t *testing.T) {
	var q againQueue
	conns := make([]Conn, 3)
	for i := range conns {
		q.push(&conns[i])
	}
	for i := range 10_000 {
		c := q.pop()
		if c != &conns[i%3] || q.len() != 2 {
			t.Fatalf("connection %d of %d is not the one that has waited for longest", i, q.len()+1)
		}
		q.push(c)
	}
	if n := cap(q.conns); n > 16 {
		t.Errorf("room for %d connections", n)
	}
	for range conns {
		q.pop()
	}
	if q.len() != 0 || slices.ContainsFunc(q.conns[:cap(q.conns)], func(c *Conn) bool { return c != nil }) {
		t.Error("the queue is not empty, or keeps connections")
	}
}

// A connection that is served again and again does not keep the loop from others, however the loop waits.
func TestRequeueOnTheSystem(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	at := listenLocally(t)
	var busy atomic.Pointer[Conn]
	var stop atomic.Bool
	h := &hooks{}
	h.serve = func(_ *Worker, c *Conn) {
		var p [8]byte
		n, err := c.TryRead(p[:])
		switch {
		case string(p[:n]) == "busy":
			busy.Store(c)
			c.Requeue()
		case c == busy.Load() && !stop.Load():
			c.Requeue()
		case err == io.EOF:
			c.Finish()
		default:
			_, _ = c.TryWrite(p[:n])
			if !c.Park(0) {
				c.Requeue()
			}
		}
	}
	g, end := startGroup(t, h, at)
	defer stop.Store(true) // also if the test fails
	var conns [2]net.Conn
	for i := range conns {
		c, err := net.Dial("tcp", at.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c
		_ = conns[i].SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = conns[i].Write([]byte("first"))
		wantText(t, conns[i], "first")
	}
	_, _ = conns[0].Write([]byte("busy"))
	for busy.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	for _, away := range []int64{0, 1, -1} {
		g.away.Add(away)
		for range 20 {
			_, _ = conns[1].Write([]byte("echo"))
			wantText(t, conns[1], "echo")
		}
	}
	stop.Store(true)
	for _, c := range conns {
		_ = c.Close()
	}
	end()
}

// Many connections that expire together do not keep the loop from others, even if each has another worker lead the loop.
func TestExpiryOnTheSystem(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for soon := range wiretest.LongerLimits(100 * time.Millisecond) {
		if expireTogether(t, soon) {
			return
		}
	}
	t.Fatal("the first connections expired before the last ones were parked")
}

// expireTogether has connections expire in the same tick, soon. It returns false if they could not be parked before.
func expireTogether(t *testing.T, soon time.Duration) bool {
	const slow = 200
	at := listenLocally(t)
	var good net.Conn
	var parked, expired, sentAt, servedAt atomic.Int64
	tick := Now().Add(soon).tick()
	h := &hooks{}
	h.serve = func(_ *Worker, c *Conn) {
		var p [8]byte
		by := Moment(0)
		switch n, err := c.TryRead(p[:]); {
		case string(p[:n]) == "slow":
			by = tick
		case string(p[:n]) == "more":
			servedAt.CompareAndSwap(0, expired.Load())
		case err == io.EOF:
			c.Finish()
			return
		}
		for !c.Park(by) {
		}
		if by == tick {
			parked.Add(1)
		}
	}
	h.expire = func(w *Worker, c *Conn) {
		if expired.Add(1) == 10 {
			sentAt.Store(10)
			_, _ = good.Write([]byte("more"))
		}
		w.Leave()
		for end := Now().Add(20 * time.Microsecond); Now() < end; {
		}
		c.Finish()
	}
	_, end := startGroup(t, h, at)
	var err error
	if good, err = net.Dial("tcp", at.Addr().String()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = good.Close()
		end()
	}()
	for range slow {
		c, err := net.Dial("tcp", at.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write([]byte("slow"))
	}
	for parked.Load() < slow && Now() < tick {
		time.Sleep(time.Millisecond)
	}
	if Now() >= tick {
		t.Logf("%d connections were parked in %v", parked.Load(), soon)
		return false
	}
	for begun := time.Now(); servedAt.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("the good connection was not served")
		}
	}
	if n := servedAt.Load() - sentAt.Load(); n > slow/2 {
		t.Errorf("%d connections expired before another one was served", n)
	}
	return true
}

// A connection that has an event waits for only one of those that are served again and again, and take long each time.
func TestTimeOfRequeued(t *testing.T) {
	const busyConns, rounds, took = 12, 21, 200 * time.Microsecond
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	at := listenLocally(t)
	var busy, served, sentAt, servedAt atomic.Int64
	h := &hooks{}
	h.serve = func(_ *Worker, c *Conn) {
		var p [8]byte
		n, err := c.TryRead(p[:])
		switch {
		case string(p[:n]) == "busy":
			c.Data = "busy"
			busy.Add(1)
			c.Requeue()
		case err == io.EOF:
			c.Finish()
		case c.Data == "busy":
			for from := Now(); Now() < from.Add(took); {
			}
			served.Add(1)
			c.Requeue()
		default:
			if n > 0 {
				servedAt.Store(served.Load())
				_, _ = c.TryWrite(p[:n])
			}
			if !c.Park(0) {
				c.Requeue()
			}
		}
	}
	_, end := startGroup(t, h, at)
	var conns [busyConns + 1]net.Conn
	for i := range conns {
		c, err := net.Dial("tcp", at.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c
		_ = conns[i].SetDeadline(time.Now().Add(10 * time.Second))
	}
	for _, c := range conns[1:] {
		_, _ = c.Write([]byte("busy"))
	}
	for busy.Load() < busyConns {
		time.Sleep(time.Millisecond)
	}
	var between []int64
	for range rounds {
		sentAt.Store(served.Load())
		_, _ = conns[0].Write([]byte("echo"))
		wantText(t, conns[0], "echo")
		between = append(between, servedAt.Load()-sentAt.Load())
	}
	for _, c := range conns {
		_ = c.Close()
	}
	end()
	slices.Sort(between)
	if got := between[rounds/2]; got > 1 {
		t.Errorf("%d connections are served between an event and its connection (median of %d)", got, rounds)
	}
}
