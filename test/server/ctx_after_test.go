package server_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// calls returns the sorted numbers that were sent to a channel until now.
func calls(from chan int) (all []int) {
	synctest.Wait()
	for len(from) > 0 {
		all = append(all, <-from)
	}
	slices.Sort(all)
	return all
}

// On a disconnect, each function is called once, except those that were stopped.
func TestAfterFuncWhenTheClientGoesAway(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			called := make(chan int, 20)
			leaveOn(t, on, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
				var stops []func() bool
				for i := range 5 {
					stops = append(stops, ctx.AfterFunc(func() { called <- i }))
				}
				for _, i := range []int{0, 2, 4} { // the first, one in the middle, and the last
					if !stops[i]() || stops[i]() {
						t.Errorf("stop %d: want true, then false", i)
					}
				}
				if early := calls(called); early != nil {
					t.Errorf("called before the client went away: %v", early)
				}
				<-ctx.Done()
				if got := calls(called); !slices.Equal(got, []int{1, 3}) {
					t.Errorf("called %v", got)
				}
				if stops[1]() {
					t.Error("a function that was called is stopped")
				}
				late := ctx.AfterFunc(func() { called <- 5 })
				if got := calls(called); !slices.Equal(got, []int{5}) || late() {
					t.Errorf("called %v after Done was closed", got)
				}
			}})
			if again := calls(called); again != nil {
				t.Errorf("called %v again", again)
			}
		})
	})
}

func TestAfterFuncWhenTheHandlerHasReturned(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		called := make(chan int, 20)
		var stop func() bool
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) != "/registers" {
				return
			}
			ctx.AfterFunc(func() { called <- 1 })
			ctx.AfterFunc(func() { called <- 2 })()
			stop = ctx.AfterFunc(func() { called <- 3 })
			if early := calls(called); early != nil {
				t.Errorf("called before the handler has returned: %v", early)
			}
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/registers"))
			c.Want(200)
			if got := calls(called); !slices.Equal(got, []int{1, 3}) || stop() {
				t.Errorf("called %v", got)
			}
			c.Send(wiretest.Get("/"))
			c.Want(200)
			if again := calls(called); again != nil {
				t.Errorf("the next request called %v", again)
			}
		})
	})
}

func TestAfterFuncOfATimeout(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		called := make(chan error, 1)
		slow := func(ctx *gallop.RequestCtx) {
			context.AfterFunc(ctx, func() { called <- ctx.Err() })
			time.Sleep(2 * time.Second)
		}
		s := &gallop.Server{Handler: gallop.TimeoutHandler(slow, time.Second, "late")}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/"))
			c.Want(408)
			time.Sleep(2 * time.Second) // until the handler has returned
			if len(called) != 1 || <-called != context.DeadlineExceeded {
				t.Error("not called with the error of a timeout")
			}
		})
	})
}

func TestAfterFuncThatPanics(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		var log servertest.Log
		s := &gallop.Server{Logger: &log, Handler: func(ctx *gallop.RequestCtx) {
			ctx.AfterFunc(func() { panic("on purpose") })
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/"))
			c.Want(200)
			synctest.Wait()
		})
		if all := log.String(); !strings.Contains(all, "panic in a function that was passed to OnDisconnect or AfterFunc: on purpose") {
			t.Errorf("log: %q", all)
		}
	})
}

// Derived contexts need no goroutines, and are done when the request is.
func TestDerivedContextsStartNoGoroutines(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		var all []context.Context
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			ctx.Done() // starts to watch the connection
			before := runtime.NumGoroutine()
			for range 100 {
				derived, cancel := context.WithCancel(ctx)
				t.Cleanup(cancel)
				all = append(all, derived)
			}
			if more := runtime.NumGoroutine() - before; more > 10 {
				t.Errorf("100 contexts have started %d goroutines", more)
			}
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/"))
			c.Want(200)
			synctest.Wait()
			for _, derived := range all {
				if derived.Err() != context.Canceled {
					t.Fatalf("after the request: %v", derived.Err())
				}
			}
		})
	})
}

// On an event loop, a handler that calls Done needs no goroutine until the client hangs up.
func TestDoneStartsNoGoroutineOnLoops(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		if on.Name != "loop" {
			t.Skip("only event loops watch connections")
		}
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			before := runtime.NumGoroutine()
			ctx.Done()
			if more := runtime.NumGoroutine() - before; more > 0 {
				t.Errorf("Done has started %d goroutines", more)
			}
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/"))
			c.Want(200)
		})
	})
}
