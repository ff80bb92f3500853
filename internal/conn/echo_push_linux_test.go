package conn_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// overEchoLoop is overEcho for transports with one loop. With the race detector, one in three has to do.
func overEchoLoop(t *testing.T, only string, test func(r *echoRig)) {
	all := echoTransports
	defer func() { echoTransports = all }()
	echoTransports = nil
	for _, tr := range all {
		if strings.HasPrefix(tr.name, "loop/"+only) && (!bufpool.Poisons || strings.HasSuffix(tr.name, "/always")) {
			echoTransports = append(echoTransports, tr)
		}
	}
	overEcho(t, func(s *echoServer) { s.Loops.N = 1 }, test)
}

// quiet returns a client that does not read before it is told to, and its wire. Its window holds n bytes if it is in memory.
func (r *echoRig) quiet(n int) (*echoClient, *echoWire) {
	r.s.takeLast()
	nc, err := r.dial()
	if err != nil {
		r.Fatal(err)
	}
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	narrow(nc, n)
	for {
		if c := r.s.takeLast(); c != nil {
			return newEchoClient(nc), c
		}
		time.Sleep(time.Millisecond)
	}
}

// takeLast returns the last wire that was made since the last call, nil if there is none.
func (s *echoServer) takeLast() (c *echoWire) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, s.last = s.last, nil
	return c
}

// pushed returns how many bytes were pushed that the socket has not accepted.
func (c *echoWire) pushed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.below()
}

// eventually waits until cond, which is called with the wire locked, holds.
func (r *echoRig) eventually(c *echoWire, what string, cond func() bool) {
	r.Helper()
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		ok := cond()
		c.mu.Unlock()
		if ok {
			return
		}
		if time.Since(begun) > 20*time.Second {
			r.Fatalf("not %s: %d running, %d unsent, stuck %t", what, c.running, len(c.unsent), c.stuck)
		}
	}
}

// waiting returns the stack of a goroutine that waits for a connection of a loop, if there is one.
func waiting() string {
	buf := make([]byte, 1<<20)
	for stack := range bytes.SplitSeq(buf[:runtime.Stack(buf, true)], []byte("\n\n")) {
		if bytes.Contains(stack, []byte("internal/poll.(*Conn).await(")) {
			return string(stack)
		}
	}
	return ""
}

// bounded checks what a connection holds for its client.
func (r *echoRig) bounded(c *echoWire) {
	r.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.unsent); n > mostUnsent+2<<10 {
		r.Errorf("%d bytes are unsent", n)
	}
	if n := c.below(); n > conn.MostPushed {
		r.Errorf("%d bytes were pushed and are unsent", n)
	}
}

// A client that reads nothing holds up nobody else on its loop, however much there is for it. It gets all in the end.
func TestEchoReadsNothing(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	overEchoLoop(t, "", func(r *echoRig) {
		c, wire := r.quiet(64 << 10)
		defer c.conn.Close()
		var calls []*echoCall
		for i := range mostOpen {
			calls = append(calls, r.whole(c, fmt.Sprint("big 400000 ", i), 0))
		}
		r.eventually(wire, "full", func() bool { return wire.stuck && len(wire.unsent) >= mostUnsent })
		begun, other := time.Now(), r.client()
		for range 50 {
			r.want(other, r.whole(other, "now", 0), "")
			r.want(other, r.whole(other, "echo", 100), "")
			r.bounded(wire)
		}
		if took := time.Since(begun); took > 5*time.Second || r.memory && took > 10*time.Millisecond {
			r.Errorf("another client waited for %v", took)
		}
		if stack := waiting(); stack != "" {
			r.Errorf("a goroutine waits:\n%s", stack)
		}
		_ = other.conn.Close()
		go c.read(64<<10, nil)
		for _, x := range calls {
			r.want(c, x, "")
		}
		r.eventually(wire, "idle", func() bool { return !wire.busy() })
		if wire.loop.pusher.HoldsBuffer() {
			r.Error("an idle connection holds a buffer")
		}
	})
}

// Handlers push while the connection is parked and while it is served, and while it ends in any way.
func TestEchoPushAtTheEnd(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	ends := map[string]func(r *echoRig, c *echoClient){
		"closed":  func(r *echoRig, c *echoClient) { _ = c.conn.Close() },
		"reset":   func(r *echoRig, c *echoClient) { reset(c.conn) },
		"wrong":   func(r *echoRig, c *echoClient) { r.send(c, appendFrame(nil, 1000, frameData, "")) },
		"cut off": func(r *echoRig, c *echoClient) { r.s.Table.CloseAll(conn.CutPatience) },
		"half closed": func(r *echoRig, c *echoClient) {
			_ = c.conn.(halfCloser).CloseWrite()
			time.Sleep(5 * time.Millisecond)
			_ = c.conn.Close()
		},
	}
	for name, end := range ends {
		for _, served := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/served=%t", name, served), func(t *testing.T) {
				overEchoLoop(t, "", func(r *echoRig) { r.pushAtTheEnd(served, end) })
			})
		}
	}
}

func (r *echoRig) pushAtTheEnd(served bool, end func(*echoRig, *echoClient)) {
	c, _ := r.quiet(32 << 10)
	sum := r.open(c, "sum", 0)
	for range mostOpen - 1 {
		r.whole(c, "flood 500", 0)
	}
	reads := make(chan struct{})
	go func() {
		defer close(reads)
		c.read(4<<10, nil)
	}()
	for range 50 {
		if served {
			r.send(c, c.more(sum, 10))
		}
	}
	end(r, c)
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, r.s.Table.Wake)()
	if !r.s.Table.WaitEmpty(ctx) {
		r.Error("the connection goes on")
	}
	<-reads
	_ = c.conn.Close()
}

// A connection that ends sends what it has pushed, and that nothing follows, if the client takes that soon.
func TestEchoSendsTheRest(t *testing.T) {
	overEchoLoop(t, "memory-tls", func(r *echoRig) {
		for _, late := range []bool{false, true} {
			c, wire := r.quiet(1000)
			r.whole(c, "big 40000", 0)
			r.eventually(wire, "full", func() bool { return wire.below() > 0 })
			r.send(c, appendFrame(nil, 1000, frameData, "of nothing"))
			begun := time.Now()
			other := r.client()
			r.want(other, r.whole(other, "now", 0), "")
			_ = other.conn.Close()
			if late {
				r.s.Table.WaitEmpty(r.Context())
				if took := time.Since(begun); took < conn.LingerIdle || took > conn.LingerIdle+100*time.Millisecond {
					r.Errorf("the connection ended after %v", took)
				}
			} else if time.Sleep(conn.LingerIdle / 2); time.Since(begun) > conn.LingerIdle {
				r.Error("the connection held up another one")
			}
			c.read(1000, nil)
			if in := c.over == io.EOF && notified(c.conn); in == late {
				r.Errorf("late is %t, and the connection ended: %v", late, c.over)
			}
			_ = c.conn.Close()
			r.s.Table.WaitEmpty(r.Context())
		}
	})
}
