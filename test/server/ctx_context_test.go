package server_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

var _ context.Context = (*gallop.RequestCtx)(nil)

// untilDone answers when the context of the request ends, with the reason.
func untilDone(ended chan<- error) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) {
		<-ctx.Done()
		ended <- ctx.Err()
	}
}

func TestDoneWhenTheClientGoesAway(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for _, stream := range []bool{false, true} {
			for _, request := range []string{wiretest.Get("/"), servertest.PostTo("/", "hello")} {
				synctest.Test(t, func(t *testing.T) {
					ended := make(chan error, 1)
					s := &gallop.Server{StreamRequestBody: stream, Handler: func(ctx *gallop.RequestCtx) {
						ctx.PostBody()
						untilDone(ended)(ctx)
					}}
					client, server := wiretest.Pipe()
					go on.Serve(s)(server)
					client.Write([]byte(request))
					synctest.Wait()
					if len(ended) > 0 {
						t.Fatal("ended at once")
					}
					client.Close()
					if err := <-ended; err != context.Canceled {
						t.Error(err)
					}
				})
			}
		}
	})
}

func TestDoneDoesNotEatTheNextRequest(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			ctx.Done()
			select {
			case <-ctx.Done():
				t.Error("done")
			case <-time.After(time.Second):
			}
			fmt.Fprintf(ctx, "%s", ctx.Path())
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/1")).Pause(time.Second / 2)
			c.Send(wiretest.Get("/2"), wiretest.Get("/3"))
			for _, path := range []string{"/1", "/2", "/3"} {
				c.Want(200)
				c.WantBody(path)
			}
			c.Pause(time.Minute) // no deadline of the watching is left
			c.Send(wiretest.Get("/4"))
			c.Want(200)
			c.WantBody("/4")
		})
	})
}

func TestDoneWhenTheHandlerHasReturned(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		kept := make(chan (<-chan struct{}), 1)
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { kept <- ctx.Done() }}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/"))
			c.Want(200)
			<-<-kept
		})
	})
}

func TestDoneWhenTheServerStops(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		ended := make(chan error, 1)
		s := &gallop.Server{Handler: untilDone(ended)}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/"))
			synctest.Wait()
			if err := s.Shutdown(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != context.Canceled {
				t.Error(err)
			}
			c.Want(200)
			c.WantField("Connection", "close")
			c.WantEOF()
		})
	})
}

func TestDerivedContexts(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			ctx.SetUserValue("k", "v")
			derived, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if derived.Value("k") != "v" {
				t.Error("the value is gone")
			}
			<-derived.Done()
			if ctx.Err() != nil || derived.Err() != context.DeadlineExceeded {
				t.Errorf("%v, %v", ctx.Err(), derived.Err())
			}
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/"))
			c.Want(200)
		})
	})
}

func TestTimeoutHandler(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		released := make(chan error, 1)
		slow := func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/fast":
				ctx.SetBodyString("fast")
			case "/panic":
				panic("oops")
			default:
				if d, ok := ctx.Deadline(); !ok || time.Until(d) != time.Second {
					t.Errorf("deadline in %v, %v", time.Until(d), ok)
				}
				<-ctx.Done()
				err := ctx.Err()
				time.Sleep(time.Minute)
				if string(ctx.Path()) != "/slow" { // still this request's
					t.Errorf("path is %q", ctx.Path())
				}
				ctx.SetBodyString("nobody sees this")
				released <- err
			}
		}
		var l servertest.Log
		s := &gallop.Server{Handler: gallop.TimeoutHandler(slow, time.Second, "too slow"), Logger: &l}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/fast"), wiretest.Get("/slow"), wiretest.Get("/fast"))
			c.Want(200)
			c.WantBody("fast")
			c.Want(408)
			c.WantBody("too slow")
			c.WantField("Connection", "close")
			c.WantEnd()
			c.Pause(2 * time.Minute) // the channel is not of the bubble: waiting for it stops time
			if err := <-released; err != context.DeadlineExceeded {
				t.Error(err)
			}
		})
		on.Talk(t, &gallop.Server{Handler: s.Handler, Logger: &l}, func(c *wiretest.Conversation) {
			c.Send(wiretest.Get("/panic"))
			c.Want(500)
			c.WantEnd()
		})
	})
}

func TestTimeoutCutsOffTheBody(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		read := make(chan error, 1)
		h := gallop.TimeoutWithCodeHandler(func(ctx *gallop.RequestCtx) {
			_, err := ctx.RequestBodyStream().Read(make([]byte, 10))
			read <- err
		}, time.Second, "late", 503)
		on.Talk(t, &gallop.Server{Handler: h, StreamRequestBody: true}, func(c *wiretest.Conversation) {
			c.Send(wiretest.Request("POST", "/", "Content-Length: 10"))
			c.Want(503)
			c.WantEnd()
			if err := <-read; err == nil {
				t.Error("the handler read what is not there")
			}
		})
	})
}

// Contexts that are derived from a request's look at it when they end, while the handler may set values. The race detector judges.
// It is not parallel, because it keeps a processor busy until its timers fire.
func TestDerivedContextsBesideUserValues(t *testing.T) {
	var ctx gallop.RequestCtx
	ctx.Init(&gallop.Request{}, nil, nil)
	for i := range 200 {
		derived, cancel := context.WithTimeout(&ctx, time.Duration(i%5)*10*time.Microsecond)
		for j := 0; derived.Err() == nil; j++ {
			ctx.SetUserValue("key", j)
		}
		ctx.SetUserValue(fmt.Sprint(i), i)
		<-derived.Done()
		cancel()
	}
	if ctx.Value("199") != 199 {
		t.Error("a value is gone")
	}
	number := new(int)
	ctx.SetUserValue(number, "pointer")
	if ctx.Value(number) != "pointer" {
		t.Error("a value under a pointer is not found")
	}
}
