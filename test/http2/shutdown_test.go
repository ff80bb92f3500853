package http2_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// A shutdown announces the end, serves streams that the client has begun, and then closes the connection.
func TestShutdownWithStreams(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			time.Sleep(10 * time.Second)
			ctx.SetBody(ctx.Path())
		})
		c, idle, new := w.dial(), w.dial(), w.dialSilently()
		idle.want(idle.get("/idle"), 200, "/idle")
		first := c.open("GET", "/first", true)
		time.Sleep(time.Second)
		c.mute.Store(true) // so that the server waits for streams that may be on their way
		down := make(chan error, 1)
		begun := time.Now()
		go func() { down <- w.s.Shutdown() }()
		c.until("GOAWAY", func() bool { return len(c.aways) > 0 })
		second := c.open("GET", "/second", true) // in flight, as far as the client knows
		if aways := idle.awaitEnd(); len(aways) != 2 || aways[1].last != 1 {
			w.t.Errorf("idle: GOAWAY %v", aways)
		}
		new.awaitEnd()
		w.between(begun, "the end of idle connections", 0, 2*time.Second)
		c.want(c.await(first), 200, "/first")
		c.want(c.await(second), 200, "/second")
		aways := c.awaitEnd()
		if len(aways) != 2 || aways[0] != (away{1<<31 - 1, http2.ErrCodeNo}) || aways[1] != (away{second, http2.ErrCodeNo}) {
			w.t.Errorf("GOAWAY %v", aways)
		}
		if err := await(w, down); err != nil {
			w.t.Error(err)
		}
		w.between(begun, "the shutdown", 9*time.Second, 13*time.Second)
	})
}

// A shutdown that is cut short closes connections with streams in flight.
func TestShutdownWithinALimit(t *testing.T) {
	onSites(t, func(w *site) {
		told := make(chan error, 1)
		w.handle(func(ctx *gallop.RequestCtx) {
			ctx.OnDisconnect(func(err error) { told <- err })
			time.Sleep(time.Minute)
		})
		c := w.dial()
		c.open("GET", "/", true)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		if err := w.s.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			w.t.Error(err)
		}
		w.between(begun, "the shutdown", 10*time.Second, 12*time.Second)
		c.awaitEnd()
		await(w, told)
		time.Sleep(time.Minute) // until the handler has ended
	})
}

// Close closes connections at once, and waits for their handlers.
func TestClose(t *testing.T) {
	onSites(t, func(w *site) {
		ended := make(chan bool, 1)
		w.handle(func(ctx *gallop.RequestCtx) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended <- true
		})
		c, idle := w.dial(), w.dial()
		c.open("GET", "/", true)
		time.Sleep(time.Second)
		if err := w.s.Close(); err != nil {
			w.t.Error(err)
		}
		if len(ended) == 0 {
			w.t.Error("Close has not waited for the handler")
		}
		c.awaitEnd()
		idle.awaitEnd()
	})
}

// While the server is a lame duck, connections end after their next response.
func TestLameDuck(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{Handler: echo, LameDuck: 20 * time.Second})
		c, idle := w.dial(), w.dial()
		c.wantAlive()
		idle.wantAlive()
		down := make(chan error, 1)
		begun := time.Now()
		go func() { down <- w.s.Shutdown() }()
		time.Sleep(5 * time.Second)
		c.wantAlive()
		if aways := c.awaitEnd(); len(aways) != 2 || aways[1].last != 3 {
			w.t.Errorf("GOAWAY %v", aways)
		}
		w.between(begun, "the end of a connection with a request", 5*time.Second, 7*time.Second)
		late := w.dial()
		late.wantAlive()
		late.awaitEnd()
		idle.awaitEnd()
		if err := await(w, down); err != nil {
			w.t.Error(err)
		}
		w.between(begun, "the shutdown", 20*time.Second, 22*time.Second)
	})
}

// Without keep-alive, a connection ends after its next response. Idle connections end soon.
func TestSetKeepAlivesEnabled(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(*gallop.RequestCtx) { time.Sleep(10 * time.Second) })
		c, idle, fresh := w.dial(), w.dial(), w.dial()
		idle.wantAlive()
		id := c.open("GET", "/", true)
		time.Sleep(time.Second)
		w.s.SetKeepAlivesEnabled(false)
		begun := time.Now()
		if aways := idle.awaitEnd(); len(aways) == 0 || aways[len(aways)-1].last != 1 {
			w.t.Errorf("idle: GOAWAY %v", aways)
		}
		w.between(begun, "the end of an idle connection", 0, 2*time.Second)
		c.want(c.await(id), 200, "")
		if aways := c.awaitEnd(); len(aways) != 2 || aways[1].last != 1 {
			w.t.Errorf("GOAWAY %v", aways)
		}
		fresh.wantAlive()
		fresh.awaitEnd()
	})
}

// The states of a connection follow its streams.
func TestConnState(t *testing.T) {
	onSites(t, func(w *site) {
		var mu sync.Mutex
		var states []gallop.ConnState
		release := make(chan bool)
		w.serve(&gallop.Server{
			ConnState: func(_ net.Conn, s gallop.ConnState) {
				mu.Lock()
				defer mu.Unlock()
				states = append(states, s)
			},
			Handler: func(*gallop.RequestCtx) { <-release },
		})
		c := w.dial()
		now := func() string {
			time.Sleep(5 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			return fmt.Sprint(states)
		}
		want := "[new]"
		if !w.tls { // the preface looks like a request
			want = "[new active idle]"
		}
		if got := now(); got != want {
			w.t.Errorf("before streams: %v", got)
		}
		for range 2 {
			first, second := c.open("GET", "/", true), c.open("GET", "/", true)
			want = strings.TrimSuffix(want, "]") + " active]"
			if got := now(); got != want {
				w.t.Errorf("with streams: %v, want %v", got, want)
			}
			release <- true
			if got := now(); got != want {
				w.t.Errorf("with one stream: %v, want %v", got, want)
			}
			release <- true
			c.await(first)
			c.await(second)
			want = strings.TrimSuffix(want, "]") + " idle]"
			if got := now(); got != want {
				w.t.Errorf("idle: %v, want %v", got, want)
			}
		}
		c.nc.Close()
		want = strings.TrimSuffix(want, "]") + " closed]"
		if got := now(); got != want {
			w.t.Errorf("closed: %v, want %v", got, want)
		}
	})
}

func TestStats(t *testing.T) {
	onSites(t, func(w *site) {
		release := make(chan bool)
		w.handle(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				<-release
			}
			ctx.SetBody(make([]byte, 1000))
		})
		c, idle := w.dial(), w.dial()
		for range 10 {
			c.wantAlive()
		}
		idle.wantAlive()
		id := c.open("GET", "/slow", true)
		time.Sleep(time.Second)
		s := w.s.Stats()
		if got := fmt.Sprint(s.Connections, s.Active, s.Idle, s.Running); got != "2 1 1 1" {
			w.t.Errorf("connections, active, idle, running: %s, want 2 1 1 1", got)
		}
		more := c.open("GET", "/slow", true)
		arriving := c.open("POST", "/slow", false)
		time.Sleep(time.Second)
		if n := w.s.Stats().Running; n != 2 {
			w.t.Errorf("%d running of three requests, one of which is still arriving, want 2", n)
		}
		c.data(arriving, "a", true)
		close(release)
		c.await(id)
		c.await(more)
		c.await(arriving)
		time.Sleep(time.Second)
		s = w.s.Stats()
		if got := fmt.Sprint(s.Connections, s.Active, s.Idle, s.Running, s.Requests); got != "2 0 2 0 14" {
			w.t.Errorf("connections, active, idle, running, requests: %s, want 2 0 2 0 14", got)
		}
		c.nc.Close()
		idle.nc.Close()
		time.Sleep(time.Second)
		s = w.s.Stats() // with all that connections count when they end
		if s.BytesWritten < 14_000 || s.BytesWritten > 22_000 || s.BytesRead < 200 || s.BytesRead > 5_000 {
			w.t.Errorf("%d bytes written, %d read", s.BytesWritten, s.BytesRead)
		}
	})
}
