package server_test

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/nethttp"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// leaveOn sends a request to s over a connection in memory, and closes the connection when the handler runs.
func leaveOn(t *testing.T, on servertest.Transport, s *gallop.Server) {
	t.Helper()
	s.Logger = servertest.Quiet
	ln := on.Listen(s)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	c, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(wiretest.Get("/"))); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	_ = c.Close()
	time.Sleep(time.Minute)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Everybody who calls OnDisconnect is told, but for those who have called stop.
func TestOnDisconnectTellsEverybody(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			told := make(chan int, 10)
			var stops []func() bool
			leaveOn(t, on, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
				for i := range 5 {
					stops = append(stops, ctx.OnDisconnect(func(cause error) {
						if cause != context.Canceled {
							t.Error(cause)
						}
						told <- i
					}))
				}
				for _, i := range []int{0, 2, 4} { // the first, one in the middle, and the last
					if !stops[i]() {
						t.Errorf("%d is not stopped", i)
					}
					if stops[i]() {
						t.Errorf("%d is stopped twice", i)
					}
				}
				time.Sleep(2 * time.Second)
				late := ctx.OnDisconnect(func(cause error) { told <- 5 })
				synctest.Wait()
				if late() {
					t.Error("one that was called at once is stopped")
				}
			}})
			close(told)
			var got []int
			for i := range told {
				got = append(got, i)
			}
			if slices.Sort(got); !slices.Equal(got, []int{1, 3, 5}) {
				t.Errorf("told %v", got)
			}
			for i, stop := range stops {
				if stop() {
					t.Errorf("%d is stopped when it was told", i)
				}
			}
		})
	})
}

// When the handler has returned nobody is told, and stop says that nobody was. It does not harm the next request.
func TestOnDisconnectEndsWithTheHandler(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			var told atomic.Int32
			var stops []func() bool
			s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
				stops = append(stops, ctx.OnDisconnect(func(error) { told.Add(1) }))
				if len(stops) == 3 {
					if !stops[0]() {
						t.Error("that of a request that is over was called")
					}
				}
			}}
			c := wiretest.Start(t, on.Serve(s))
			c.Patience = time.Hour
			for range 3 {
				c.Send(wiretest.Get("/")).Want(200)
			}
			c.CloseWrite().WantEOF()
			if n := told.Load(); n != 0 {
				t.Errorf("%d were told", n)
			}
			if !stops[1]() || stops[0]() {
				t.Error("stop is wrong")
			}
		})
	})
}

// gallop's middleware around a net/http handler is told, also if that handler asks for the end of its context.
func TestOnDisconnectAroundNetHTTP(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			var told atomic.Int32
			std := nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				told.Add(10)
			}))
			leaveOn(t, on, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
				ctx.OnDisconnect(func(error) { told.Add(1) })
				std(ctx)
			}})
			if n := told.Load(); n != 11 {
				t.Errorf("got %d: the middleware is 1, the handler is 10", n)
			}
		})
	})
}
