package server_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// These tests cover properties of event loops only, on a system in memory that can run out of every resource.

// serveInMemory has s serve a listener on its event loops until the test ends, which it does
// in a synctest bubble, and checks then that s has left nothing behind.
func serveInMemory(t *testing.T, s *gallop.Server) (*wiretest.KernelListener, *wiretest.Kernel) {
	t.Helper()
	return serveInMemoryBy(t, s, servertest.ListenInline(s), s.Serve)
}

func serveInMemoryBy(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener, serve func(net.Listener) error) (*wiretest.KernelListener, *wiretest.Kernel) {
	t.Helper()
	if s.Logger == nil {
		s.Logger = servertest.Quiet
	}
	k := servertest.Kernel(s)
	served := make(chan error, 1)
	go func() { served <- serve(ln) }()
	synctest.Wait()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := k.Open(); n > 0 {
			t.Errorf("%d connections are left", n)
		}
		for _, misuse := range k.Misuse() {
			t.Error(misuse)
		}
	})
	return ln, k
}

// callIn sends a request over a new connection.
func callIn(t *testing.T, ln *wiretest.KernelListener, request string) net.Conn {
	t.Helper()
	c, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c
}

// wantAll reads to the end, and wants the response to begin like this; "" means no response.
func wantAll(t *testing.T, c net.Conn, begin string) {
	t.Helper()
	b, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(b), begin) || begin == "" && len(b) > 0 {
		t.Errorf("%.200q, %v; want %q", b, err, begin)
	}
	_ = c.Close()
}

// refuseAt returns a [wiretest.Kernel] Refuse that fails a call with err.
func refuseAt(call string, err error) func(string) error {
	return func(is string) error {
		if is == call {
			return err
		}
		return nil
	}
}

// Without descriptors accepting rests, ever longer and not for long, and goes on by itself.
func TestLoopRestsWithoutDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log servertest.Log
		s := &gallop.Server{Logger: &log, Handler: servertest.Say}
		ln, k := serveInMemory(t, s)
		var mu sync.Mutex
		var tries []time.Time
		out := true
		k.Refuse = func(call string) error {
			mu.Lock()
			defer mu.Unlock()
			if !out || call != "accept" {
				return nil
			}
			tries = append(tries, time.Now())
			return syscall.EMFILE
		}
		c := callIn(t, ln, wiretest.Get("/", "Connection: close"))
		time.Sleep(10 * time.Second)
		mu.Lock()
		for i := 2; i < len(tries); i++ {
			last, this := tries[i-1].Sub(tries[i-2]), tries[i].Sub(tries[i-1])
			if this < last || this < 5*time.Millisecond || this > 260*time.Millisecond {
				t.Errorf("tries %v and then %v apart", last, this)
			}
		}
		if len(tries) < 40 || len(tries) > 60 {
			t.Errorf("%d tries in 10 s", len(tries))
		}
		out = false
		mu.Unlock()
		begun := time.Now()
		wantAll(t, c, "HTTP/1.1 200 OK")
		if d := time.Since(begun); d > 260*time.Millisecond {
			t.Errorf("accepted %v after there was a descriptor", d)
		}
		if !strings.Contains(log.String(), "too many open files") {
			t.Errorf("logged %q", log.String())
		}
	})
}

// A connection that cannot be taken from its loop is closed, once.
func TestLoopHijackWithoutDescriptors(t *testing.T) {
	for name, handler := range map[string]gallop.RequestHandler{
		"Hijack":     func(ctx *gallop.RequestCtx) { ctx.Hijack(func(net.Conn) { panic("there is none") }) },
		"HijackConn": func(ctx *gallop.RequestCtx) { _, _ = ctx.HijackConn() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				last := gallop.StateNew
				s := &gallop.Server{Handler: handler, ConnState: func(_ net.Conn, state gallop.ConnState) {
					mu.Lock()
					defer mu.Unlock()
					last = state
				}}
				ln, k := serveInMemory(t, s)
				k.Refuse = refuseAt("take", syscall.EMFILE)
				c := callIn(t, ln, wiretest.Get("/"))
				_, _ = io.ReadAll(c)
				synctest.Wait()
				if n := s.GetOpenConnectionsCount(); n != 0 {
					t.Errorf("%d connections are open", n)
				}
				mu.Lock()
				defer mu.Unlock()
				if last != gallop.StateClosed {
					t.Errorf("the last state is %v", last)
				}
			})
		})
	}
}

// Those that wait to be accepted when a server shuts down are served beside each other, and
// nobody waits for longer than the context of the shutdown says.
func TestLoopShutdownWhileConnectionsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := make(chan struct{})
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/long" {
				time.Sleep(time.Hour)
			}
		}}
		ln, k := serveInMemory(t, s)
		k.Refuse = func(call string) error {
			select {
			case <-out:
				return nil
			default:
				return refuseAt("accept", syscall.EMFILE)(call)
			}
		}
		long, other := callIn(t, ln, wiretest.Get("/long")), callIn(t, ln, wiretest.Get("/"))
		synctest.Wait()
		close(out)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := s.ShutdownWithContext(ctx); err != ctx.Err() || err == nil {
			t.Error(err)
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("after %v", d)
		}
		wantAll(t, other, "HTTP/1.1 200 OK")
		wantAll(t, long, "")
	})
}

// Stats counts exactly, even over loops that have ended meanwhile.
//
// A fast path and a slow one share a place once in about a thousand processes: then the fast one is never called on
// the loop. So the test tries three slow paths.
func TestLoopStats(t *testing.T) {
	for _, tt := range []struct {
		name   string
		listen func(*gallop.Server) *wiretest.KernelListener
		want   gallop.LoopStats
	}{
		{"inline", servertest.ListenInline, gallop.LoopStats{Inline: 14, Overtaken: 2}},
		{"as it comes", servertest.ListenOnLoop, gallop.LoopStats{Inline: 3, Pooled: 11, FastPlaces: 1, UsedPlaces: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got gallop.LoopStats
			for _, slow := range []string{"/slow", "/slower", "/slowest"} {
				if got = loopStats(t, tt.listen, slow); got == tt.want {
					return
				}
			}
			t.Errorf("%+v, want %+v", got, tt.want)
		})
	}
}

// loopStats returns the counts of a server that has responded to fourteen requests. The two for the path slow were slow.
func loopStats(t *testing.T, listen func(*gallop.Server) *wiretest.KernelListener, slow string) gallop.LoopStats {
	s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == slow {
			time.Sleep(10 * time.Millisecond)
		}
	}}
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			c := wiretest.Start(t, func(nc net.Conn) error { return servertest.ServeIn(s, nc, listen(s)) })
			for range 6 {
				c.Send(wiretest.Get("/fast")).Want(200)
				synctest.Wait() // who has answered it would serve the next one, too
			}
			c.Send(wiretest.Get(slow)).Want(200)
		})
	}
	stats := s.Stats().Loop
	if n := stats.Inline + stats.Pooled; n != 14 {
		t.Errorf("%d calls are counted, want 14", n)
	}
	return stats
}

// With one connection too many accepting pauses: those behind it in the queue are not refused
// before the pause is over, but they are when the server shuts down.
func TestLoopPausesAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gallop.Server{Handler: servertest.Say, Concurrency: 1, SleepWhenConcurrencyLimitsExceeded: time.Second}
		ln, k := serveInMemory(t, s)
		first := callIn(t, ln, wiretest.Get("/"))
		synctest.Wait()
		var queue []net.Conn
		call := func() { queue = append(queue, callIn(t, ln, wiretest.Get("/", "Connection: close"))) }
		newGate(k, "accept").while(call, func() {
			for range 5 {
				call()
			}
		})
		for i := range 3 {
			synctest.Wait()
			if n := s.GetRejectedConnectionsCount(); n != uint32(i+1) {
				t.Errorf("%d connections refused after %d pauses", n, i)
			}
			time.Sleep(1100 * time.Millisecond)
		}
		_ = first.Close()
		time.Sleep(2 * time.Second) // in which there is room
		if n := s.GetRejectedConnectionsCount(); n != 4 {
			t.Errorf("%d connections refused", n)
		}
		for _, c := range queue[4:] {
			wantAll(t, c, "HTTP/1.1 200 OK")
		}
	})
}

func TestLoopShutdownInAPauseAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gallop.Server{Concurrency: 1, SleepWhenConcurrencyLimitsExceeded: time.Hour, Handler: func(ctx *gallop.RequestCtx) {
			time.Sleep(time.Minute)
		}}
		ln, _ := serveInMemory(t, s)
		_ = callIn(t, ln, wiretest.Get("/"))
		synctest.Wait()
		var queue []net.Conn
		for range 3 {
			queue = append(queue, callIn(t, ln, ""))
			synctest.Wait()
		}
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		for _, c := range queue {
			wantAll(t, c, "HTTP/1.1 503")
		}
	})
}

// A request that comes in the last moment of its connection is read to its end, whatever its size.
func TestLoopLongRequestInTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := strings.Repeat("x", 64<<10)
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/large" {
				ctx.SetBodyString(large)
			}
		}}
		ln, _ := serveInMemory(t, s)
		nc, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		c := &rawClient{t, nc, bufio.NewReader(nc)}
		c.want("/", "")
		nc.(*wiretest.Conn).SetWindow(1 << 10)
		_, _ = io.WriteString(c, wiretest.Get("/large"))
		synctest.Wait()
		begun, down := time.Now(), make(chan error, 1)
		go func() { down <- s.Shutdown() }()
		synctest.Wait() // for a client that does not read
		if body, err := c.answer(); body != large || err != nil {
			t.Fatalf("%d bytes, %v", len(body), err)
		}
		synctest.Wait() // for another request, though not for long
		_, _ = io.WriteString(c, wiretest.Get("/", "X-Long: "+strings.Repeat("y", 10<<10)))
		if body, err := c.answer(); body != "" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
		if err := <-down; err != nil {
			t.Error(err)
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("shutting down took %v", d)
		}
		_ = c.Close()
	})
}
