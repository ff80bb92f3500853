package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

type contextKey string

// withListener serves with s on a listener in memory, in virtual time, while f dials.
func withListener(t *testing.T, on servertest.Transport, s *gallop.Server, f func(ln servertest.Listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ln := on.Listen(s)
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		f(ln)
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// client is a connection to a server and what it answers.
type client struct {
	net.Conn
	in *bufio.Reader
}

func dialListener(t *testing.T, ln servertest.Listener) *client {
	t.Helper()
	c, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	return &client{c, bufio.NewReader(c)}
}

// ask sends a request and returns the body of the response, and whether it is the last one.
func (c *client) ask(t *testing.T, path string) (body string, last bool) {
	t.Helper()
	io.WriteString(c, wiretest.Get(path))
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), resp.Close
}

// The contexts of requests descend from those of the listener and of the connection.
func TestConnContext(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		var base context.Context
		var conns, bases atomic.Int32
		var ln net.Listener
		var told chan error
		s := &gallop.Server{Logger: servertest.Quiet, BaseContext: func(l net.Listener) context.Context {
			if bases.Add(1); l != ln {
				t.Errorf("the listener is %v", l)
			}
			return base
		}}
		s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			if c.RemoteAddr() == nil {
				t.Error("no connection")
			}
			return context.WithValue(ctx, contextKey("conn"), conns.Add(1))
		}
		s.Handler = func(ctx *gallop.RequestCtx) {
			if at, ok := ctx.Deadline(); !ok || at.Year() != 2100 {
				t.Errorf("the deadline is %v", at)
			}
			if string(ctx.Path()) == "/wait" {
				ctx.OnDisconnect(func(err error) { told <- err })
				<-ctx.Done()
			}
			fmt.Fprintf(ctx, "%v%v %v", ctx.Value(contextKey("listener")), ctx.Value(contextKey("conn")), ctx.Err())
		}
		synctest.Test(t, func(t *testing.T) {
			values := context.WithValue(context.Background(), contextKey("listener"), "L")
			late, unused := context.WithDeadline(values, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
			var cancel func()
			base, cancel = context.WithCancel(late)
			told = make(chan error, 1)
			l := on.Listen(s)
			ln = l
			served := make(chan error, 1)
			go func() { served <- s.Serve(l) }()
			first, second := dialListener(t, l), dialListener(t, l)
			for _, c := range []struct {
				*client
				want string
			}{{first, "L1 <nil>"}, {second, "L2 <nil>"}, {first, "L1 <nil>"}, {second, "L2 <nil>"}} {
				if got, _ := c.ask(t, "/"); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
			time.AfterFunc(time.Second, cancel)
			if got, _ := first.ask(t, "/wait"); got != "L1 context canceled" {
				t.Errorf("got %q", got)
			}
			if err := <-told; err != context.Canceled {
				t.Errorf("OnDisconnect is told %v", err)
			}
			s.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
			unused()
		})
		if bases.Load() != 1 || conns.Load() != 2 {
			t.Errorf("%d calls of BaseContext, %d of ConnContext", bases.Load(), conns.Load())
		}
	})
}

// countingContext counts the functions that wait for its end.
type countingContext struct {
	context.Context
	waiting *atomic.Int32
}

func (c countingContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c countingContext) AfterFunc(func()) func() bool {
	c.waiting.Add(1)
	var stopped atomic.Bool
	return func() bool {
		if stopped.Swap(true) {
			return false
		}
		c.waiting.Add(-1)
		return true
	}
}

// A request leaves nothing behind in the context that its own descends from.
func TestConnContextIsLetGo(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		var waiting, most atomic.Int32
		s := &gallop.Server{Logger: servertest.Quiet, BaseContext: func(net.Listener) context.Context {
			return countingContext{context.Background(), &waiting}
		}}
		s.Handler = func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/done" {
				ctx.Done()
			}
			ctx.OnDisconnect(func(error) {})
			most.Store(max(most.Load(), waiting.Load()))
		}
		withListener(t, on, s, func(ln servertest.Listener) {
			c := dialListener(t, ln)
			for range 10 {
				c.ask(t, "/done")
				c.ask(t, "/")
			}
			synctest.Wait()
			if n := waiting.Load(); n != 0 {
				t.Errorf("%d functions are left", n)
			}
		})
		if n := most.Load(); n != 1 {
			t.Errorf("%d functions at once", n)
		}
	})
}

// A ConnContext that returns nil or panics costs the connection.
func TestConnContextThatFails(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for name, f := range map[string]func(context.Context, net.Conn) context.Context{
			"nil":   func(context.Context, net.Conn) context.Context { return nil },
			"panic": func(context.Context, net.Conn) context.Context { panic("on purpose") },
		} {
			var log servertest.Log
			s := &gallop.Server{Logger: &log, Handler: servertest.Say, ConnContext: f}
			withListener(t, on, s, func(ln servertest.Listener) {
				c := dialListener(t, ln)
				io.WriteString(c, wiretest.Get("/"))
				if b, err := io.ReadAll(c); len(b) > 0 || err != nil && !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s: %q, %v", name, b, err)
				}
				synctest.Wait()
				if log.String() == "" {
					t.Errorf("%s: nothing is logged", name)
				}
			})
		}
	})
}

// ServeConn has a ConnContext and no listener.
func TestConnContextOfServeConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gallop.Server{Logger: servertest.Quiet, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, contextKey("conn"), c.LocalAddr().String())
		}}
		s.Handler = func(ctx *gallop.RequestCtx) { fmt.Fprint(ctx, ctx.Value(contextKey("conn"))) }
		conn, server := wiretest.Pipe()
		go s.ServeConn(server)
		c := &client{conn, bufio.NewReader(conn)}
		if got, _ := c.ask(t, "/"); got != server.LocalAddr().String() {
			t.Errorf("got %q", got)
		}
		conn.Close()
	})
}

// Without keep-alives each response is the last one on its connection, and connections that wait for another request
// end. A connection that has brought no request stays for its first one.
func TestSetKeepAlivesEnabled(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Logger: servertest.Quiet, Handler: servertest.Say}
		withListener(t, on, s, func(ln servertest.Listener) {
			idle, fresh, c := dialListener(t, ln), dialListener(t, ln), dialListener(t, ln)
			idle.ask(t, "/")
			if _, last := c.ask(t, "/"); last {
				t.Error("the first response is the last one")
			}
			time.Sleep(50 * time.Millisecond) // until they wait for another request
			s.SetKeepAlivesEnabled(false)
			for _, c := range []*client{c, idle} {
				if _, err := c.in.ReadByte(); err != io.EOF {
					t.Errorf("an idle connection: %v", err)
				}
			}
			for _, c := range []*client{fresh, dialListener(t, ln)} {
				if _, last := c.ask(t, "/"); !last {
					t.Error("the connection goes on")
				}
				if _, err := c.in.ReadByte(); err != io.EOF {
					t.Error(err)
				}
			}
			s.SetKeepAlivesEnabled(true)
			c = dialListener(t, ln)
			for range 2 {
				if _, last := c.ask(t, "/"); last {
					t.Error("the connection ends")
				}
			}
			s.Shutdown()
			s.SetKeepAlivesEnabled(true)
			if c, err := ln.Dial(); err == nil {
				c.Close()
			}
		})
	})
}

// Shutdown calls what was registered and does not wait for it. Close does not call it.
func TestRegisterOnShutdown(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		for _, graceful := range []bool{true, false} {
			var log servertest.Log
			called := make(chan int, 2)
			s := &gallop.Server{Logger: &log, Handler: servertest.Say, LameDuck: time.Hour}
			withListener(t, on, s, func(ln servertest.Listener) {
				s.RegisterOnShutdown(func() {
					called <- 1
					if c, err := ln.Dial(); err == nil {
						c.Close()
						t.Error("the listener is still open")
					}
					time.Sleep(24 * time.Hour)
				})
				s.RegisterOnShutdown(func() { called <- 2; panic("on purpose") })
				if began := time.Now(); graceful {
					go func() {
						time.Sleep(30 * time.Minute)
						if len(called) != 0 {
							t.Errorf("%d calls while the server is a lame duck", len(called))
						}
					}()
					if err := s.Shutdown(); err != nil || time.Since(began) > 2*time.Hour {
						t.Errorf("%v after %v", err, time.Since(began))
					}
					if synctest.Wait(); len(called) != 2 {
						t.Errorf("%d calls", len(called))
					}
				} else {
					s.Close()
					synctest.Wait()
					if len(called) > 0 {
						t.Error("Close calls it")
					}
				}
				time.Sleep(48 * time.Hour)
			})
		}
	})
}

// Code that continues after the handler has the values of the parent.
func TestParent(t *testing.T) {
	var bare gallop.RequestCtx
	if bare.Parent() != context.Background() {
		t.Error("a zero RequestCtx has a parent")
	}
	bare.InitContext(context.WithValue(context.Background(), contextKey("user"), "alice"))
	if bare.Parent().Value(contextKey("user")) != "alice" {
		t.Error("the value is missing")
	}
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		var parent chan context.Context // of the bubble
		s := &gallop.Server{
			Handler: func(ctx *gallop.RequestCtx) { parent <- ctx.Parent() },
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				return context.WithValue(ctx, contextKey("user"), "bob")
			},
		}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			parent = make(chan context.Context, 1)
			c.Send(wiretest.Get("/"))
			c.Want(200)
			if ctx := <-parent; ctx.Value(contextKey("user")) != "bob" || ctx.Err() != nil {
				t.Errorf("%v, %v", ctx.Value(contextKey("user")), ctx.Err())
			}
		})
	})
}
