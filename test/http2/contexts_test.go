package http2_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
)

// keyOf is a key of values in contexts.
type keyOf string

// The context of a request follows those of its connection and of its server.
func TestParentsOfContexts(t *testing.T) {
	onSites(t, func(w *site) {
		deadline := time.Now().Add(time.Hour)
		base, stop := context.WithDeadline(context.WithValue(context.Background(), keyOf("base"), 1), deadline)
		defer stop()
		told := make(chan error, 1)
		w.serve(&gallop.Server{
			BaseContext: func(net.Listener) context.Context { return base },
			ConnContext: func(ctx context.Context, nc net.Conn) context.Context {
				return context.WithValue(ctx, keyOf("conn"), nc.RemoteAddr().String())
			},
			Handler: func(ctx *gallop.RequestCtx) {
				ctx.SetUserValue(keyOf("own"), 3)
				at, _ := ctx.Deadline()
				fmt.Fprint(ctx, ctx.Value(keyOf("base")), ctx.Value(keyOf("own")), ctx.Value(keyOf("none")), at.Equal(deadline), ctx.Value(keyOf("conn")) == ctx.RemoteAddr().String(), ctx.Err())
				if string(ctx.Path()) != "/waits" {
					return
				}
				ctx.OnDisconnect(func(err error) { told <- err })
				<-ctx.Done()
				if ctx.Err() != context.Canceled {
					w.t.Errorf("Err: %v", ctx.Err())
				}
				if _, open := <-ctx.Done(); open {
					w.t.Error("Done is open again")
				}
			},
		})
		c := w.dial()
		const want = "1 3 <nil> true true <nil>"
		c.want(c.get("/"), 200, want)
		id := c.open("GET", "/waits", true)
		time.Sleep(time.Second)
		stop()
		if err := await(w, told); err != context.Canceled {
			w.t.Errorf("told %v", err)
		}
		c.want(c.await(id), 200, want)
		if st := c.get("/"); !strings.HasSuffix(string(st.body), context.Canceled.Error()) {
			w.t.Errorf("with a context that is over: %q", st.body)
		}
	})
}

// A function that OnDisconnect was given is not called after it was stopped, and hurts nobody if it panics.
func TestDisconnectFunctions(t *testing.T) {
	onSites(t, func(w *site) {
		var calls atomic.Int32
		w.handle(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/alive" {
				return
			}
			stop := ctx.OnDisconnect(func(error) { calls.Add(1) })
			ctx.OnDisconnect(func(error) { calls.Add(10) })
			ctx.OnDisconnect(func(error) { panic("on purpose") })
			if !stop() || stop() {
				w.t.Error("stopped not once")
			}
			<-ctx.Done()
		})
		c := w.dial()
		id := c.open("GET", "/", true)
		time.Sleep(time.Second)
		c.reset(id)
		time.Sleep(time.Second)
		if n := calls.Load(); n != 10 || !strings.Contains(w.log.String(), "on purpose") {
			w.t.Errorf("%d calls, log %s", n, w.log.String())
		}
		c.wantAlive()
	})
}

// A user value that panics when it is closed ends no other request.
func TestClosersThatPanic(t *testing.T) {
	onSites(t, func(w *site) {
		w.handle(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/panics" {
				ctx.SetUserValue("value", panicsInClose{})
			}
		})
		c := w.dial()
		for range 3 {
			c.want(c.get("/panics"), 200, "")
			c.wantAlive()
		}
		synctest.Wait() // values are closed after the response
		if n := strings.Count(w.log.String(), "panic in Close"); n != 3 {
			w.t.Errorf("logged %d times: %s", n, w.log.String())
		}
	})
}

// panicsInClose is a value that panics when the request ends.
type panicsInClose struct{}

func (panicsInClose) Close() error { panic("on purpose") }
