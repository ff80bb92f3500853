package http2_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A handler learns that its stream, or its connection, was lost, in each of the ways in which it can ask.
func TestLostClients(t *testing.T) {
	for name, lose := range map[string]func(c *client, id uint32){
		"reset":      func(c *client, id uint32) { c.reset(id) },
		"connection": func(c *client, id uint32) { c.nc.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			onSites(t, func(w *site) {
				var started, told = make(chan bool), make(chan error, 10)
				w.handle(func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/alive" {
						return
					}
					ctx.OnDisconnect(func(cause error) { told <- cause })
					done := ctx.Done()
					if ctx.Err() != nil {
						told <- fmt.Errorf("early: %w", ctx.Err())
					}
					started <- true
					<-done
					told <- ctx.Err()
				})
				c := w.dial()
				id := c.open("GET", "/", true)
				await(w, started)
				time.Sleep(time.Second)
				if len(told) > 0 {
					w.t.Fatalf("too early: %v", <-told)
				}
				lose(c, id)
				if err := await(w, told); err == nil {
					w.t.Error("no cause")
				}
				if err := await(w, told); err == nil {
					w.t.Error("no cause")
				}
				if name == "reset" {
					c.wantAlive()
				}
			})
		})
	}
}

// Writes fail when the client has reset the stream.
func TestWritesToLostStreams(t *testing.T) {
	onSites(t, func(w *site) {
		errs := make(chan error, 1)
		w.handle(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/alive" {
				return
			}
			s, _ := ctx.StreamResponse()
			for {
				if _, err := s.Write(make([]byte, 10_000)); err != nil {
					errs <- err
					return
				}
			}
		})
		c := w.dial()
		c.hold = true
		id := c.open("GET", "/", true)
		c.awaitBody(id, 65_535)
		time.Sleep(time.Second)
		c.reset(id)
		await(w, errs)
		c.credit(0, 65_535)
		c.wantAlive()
	})
}

// The contexts of requests in flight end when a shutdown begins.
func TestContextsAtShutdown(t *testing.T) {
	onSites(t, func(w *site) {
		started := make(chan bool)
		w.handle(func(ctx *gallop.RequestCtx) {
			done := ctx.Done()
			started <- true
			<-done
			ctx.SetBodyString("done")
		})
		c := w.dial()
		id := c.open("GET", "/", true)
		await(w, started)
		down := make(chan error, 1)
		go func() { down <- w.s.Shutdown() }()
		c.want(c.await(id), 200, "done")
		if err := await(w, down); err != nil {
			w.t.Error(err)
		}
	})
}

// Deadlines that a handler sets concern its own stream.
func TestDeadlinesOfStreams(t *testing.T) {
	onSites(t, func(w *site) {
		errs := make(chan error, 1)
		w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			in := time.Now().Add(10 * time.Second)
			switch string(ctx.Path()) {
			case "/read":
				ctx.SetReadDeadline(in)
				_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				errs <- err
			case "/write":
				ctx.SetWriteDeadline(in)
				s, _ := ctx.StreamResponse()
				_, err := s.Write(make([]byte, 100_000))
				errs <- err
			case "/moved":
				time.AfterFunc(5*time.Second, func() { ctx.SetReadDeadline(time.Unix(1, 0)) })
				_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				errs <- err
			}
		}})
		c := w.dial()
		for path, after := range map[string]time.Duration{"/read": 10 * time.Second, "/moved": 5 * time.Second} {
			begun := time.Now()
			id := c.open("POST", path, false)
			c.data(id, "some", false)
			if err := await(w, errs); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != after {
				w.t.Errorf("%s: %v after %v", path, err, time.Since(begun))
			}
			c.await(id)
			c.wantAlive()
		}
		c.hold = true
		begun := time.Now()
		id := c.open("GET", "/write", true)
		if err := await(w, errs); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 10*time.Second {
			w.t.Errorf("write: %v after %v", err, time.Since(begun))
		}
		c.credit(0, 1<<20)
		c.awaitReset(id, http2.ErrCodeInternal)
		c.wantAlive()
	})
}

// Deadlines start no goroutines, however often a handler sets them.
func TestDeadlinesStartNoGoroutines(t *testing.T) {
	created := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	if metrics.Read(created); created[0].Value.Kind() != metrics.KindUint64 {
		t.Skip("this version of Go does not count goroutines")
	}
	const calls = 1000
	for _, on := range servertest.Transports {
		t.Run(on.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &site{t: t, on: on}
				var started uint64
				w.handle(func(ctx *gallop.RequestCtx) {
					metrics.Read(created)
					before := created[0].Value.Uint64()
					for range calls {
						ctx.SetReadDeadline(time.Now().Add(time.Hour))
						ctx.SetWriteDeadline(time.Now().Add(time.Hour))
					}
					metrics.Read(created)
					started = created[0].Value.Uint64() - before
				})
				c := w.dial()
				c.want(c.get("/"), 200, "")
				if started > calls/10 { // other goroutines of the process may have started some
					t.Errorf("%d goroutines were started", started)
				}
			})
		})
	}
}

// A handler that panics ends its own stream.
func TestPanics(t *testing.T) {
	onSites(t, func(w *site) {
		slow, started := make(chan bool), make(chan bool)
		w.handle(func(ctx *gallop.RequestCtx) {
			switch string(ctx.Path()) {
			case "/slow":
				started <- true
				<-slow
				ctx.SetBodyString("slow")
			case "/before":
				panic("on purpose")
			case "/during":
				s, _ := ctx.StreamResponse()
				io.WriteString(s, "some")
				s.Flush()
				panic("on purpose")
			case "/abort":
				panic(gallop.ErrAbortHandler)
			case "/goexit":
				runtime.Goexit()
			case "/goexit-during":
				s, _ := ctx.StreamResponse()
				io.WriteString(s, "some")
				s.Flush()
				runtime.Goexit()
			}
		})
		c := w.dial()
		id := c.open("GET", "/slow", true)
		await(w, started)
		if st := c.get("/before"); st.head.status() != 500 {
			w.t.Errorf("panic before the response: %v", st.head)
		}
		for _, path := range []string{"/during", "/abort", "/goexit", "/goexit-during"} {
			if st := c.awaitReset(c.open("GET", path, true), http2.ErrCodeInternal); st.ended {
				w.t.Errorf("%s: ended well", path)
			}
		}
		c.wantAlive()
		close(slow)
		c.want(c.await(id), 200, "slow")
		if n := strings.Count(w.log.String(), "panic in the handler"); n != 2 {
			w.t.Errorf("%d panics logged:\n%s", n, w.log.String())
		}
	})
}

// A handler that takes too long leaves its stream, and nothing that it does later reaches a client.
func TestHandlersThatTimeOut(t *testing.T) {
	onSites(t, func(w *site) {
		slow, began, late := make(chan bool), make(chan bool), make(chan bool)
		handler := gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) != "/late" {
				return
			}
			for range 20 {
				time.Sleep(time.Second)
				useEverything(w, ctx)
			}
			close(late)
		}, 5*time.Second, "timed out")
		w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				close(began)
				<-slow
				ctx.SetBodyString("slow")
				return
			}
			handler(ctx)
		}})
		c := w.dial()
		other := c.open("GET", "/slow", true)
		await(w, began)
		id := c.open("POST", "/late", false, "x-own: kept")
		c.data(id, "some", false)
		st := c.await(id)
		if st.head.status() != 408 || string(st.body) != "timed out" {
			w.t.Errorf("status %d, body %q", st.head.status(), st.body)
		}
		for range 20 {
			c.wantAlive()
			time.Sleep(time.Second)
		}
		await(w, late)
		close(slow)
		c.want(c.await(other), 200, "slow")
		c.wantAlive()
		w.log.WantNoPanic(w.t)
	})
}

// useEverything calls what a handler can call that does not take over anything.
func useEverything(w *site, ctx *gallop.RequestCtx) {
	if got := string(ctx.Request.Header.Peek("X-Own")); got != "kept" || string(ctx.Path()) != "/late" {
		w.t.Errorf("the late handler sees %q", got)
	}
	ctx.SetBodyString("late")
	ctx.Response.Header.Set("X-Late", "late")
	ctx.SetUserValue("key", "value")
	_ = ctx.Err()
	_ = ctx.Done()
	ctx.OnDisconnect(func(error) {})
	_, _ = ctx.Deadline()
	_ = ctx.RemoteAddr()
	_ = ctx.LocalAddr()
	_ = ctx.Conn().RemoteAddr()
	_ = ctx.ConnID() + ctx.ConnRequestNum() + ctx.ID()
	_, _ = ctx.ConnTime(), ctx.Time()
	_ = ctx.IsTLS()
	_ = ctx.TLSConnectionState()
	_ = ctx.SetReadDeadline(time.Now().Add(time.Second))
	_ = ctx.SetWriteDeadline(time.Now().Add(time.Second))
	_ = ctx.EarlyHints()
	if ctx.Err() == context.DeadlineExceeded {
		if _, err := ctx.StreamResponse(); err == nil {
			w.t.Error("a late response has begun")
		}
		if _, err := ctx.RequestBodyStream().Read(make([]byte, 1)); err == nil {
			w.t.Error("a late read has succeeded")
		}
	}
	_ = ctx.String()
	_ = ctx.Logger()
}

// The memory of a request is overwritten after its handler has returned.
func TestPoisonReleased(t *testing.T) {
	onSites(t, func(w *site) {
		var kept []byte
		w.serve(&gallop.Server{PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/kept" {
				kept = ctx.Request.Header.Peek("X-Own")
				ctx.SetBody(kept)
			}
		}})
		c := w.dial()
		c.want(c.get("/kept", "x-own: value"), 200, "value")
		synctest.Wait()
		if string(kept) == "value" {
			w.t.Error("the memory of the request was not overwritten")
		}
	})
}

// If requests arrive together with a connection error, no handlers are called for them.
func TestNoHandlersAfterAConnectionError(t *testing.T) {
	onSites(t, func(w *site) {
		var called atomic.Int64
		w.handle(func(*gallop.RequestCtx) { called.Add(1) })
		c := w.dial()
		c.want(c.get("/"), 200, "")
		c.together(func() {
			for range 20 {
				c.open("GET", "/", true)
			}
			c.reset(101) // which is idle
		})
		if aways := c.awaitEnd(); len(aways) != 1 || aways[0].code != http2.ErrCodeProtocol {
			w.t.Errorf("GOAWAY %v", aways)
		}
		synctest.Wait()
		if n := called.Load() - 1; n != 0 {
			w.t.Errorf("%d handlers were called", n)
		}
	})
}

// A connection that has ended with GOAWAY is closed for writing. If a handler returns afterwards, nothing more is written.
func TestNoWritesAfterTheLastGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gallop.Server{Logger: servertest.Quiet, Protocols: new(gallop.Protocols), Handler: func(*gallop.RequestCtx) { time.Sleep(100 * time.Millisecond) }}
		s.Protocols.SetUnencryptedHTTP2(true)
		client, server := wiretest.Pipe()
		go servertest.Goroutines.Serve(s)(&writeWatch{Conn: server, t: t})
		var block bytes.Buffer
		enc := hpack.NewEncoder(&block)
		for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: "/"}, {Name: ":authority", Value: "a"}} {
			enc.WriteField(f)
		}
		fr := http2.NewFramer(client, client)
		io.WriteString(client, http2.ClientPreface)
		fr.WriteSettings()
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
		synctest.Wait() // until the handler runs
		fr.WriteRawFrame(http2.FrameData, 0, 0, nil)
		time.Sleep(time.Second)
		client.Close()
		time.Sleep(time.Minute)
	})
}

// writeWatch is a connection that is not written to after it was closed for writing.
type writeWatch struct {
	*wiretest.Conn
	t      *testing.T
	closed atomic.Bool
}

// Write implements net.Conn.
func (w *writeWatch) Write(p []byte) (int, error) {
	if w.closed.Load() {
		w.t.Errorf("%d bytes are written after the end", len(p))
	}
	return w.Conn.Write(p)
}

// CloseWrite closes the connection for writing.
func (w *writeWatch) CloseWrite() error {
	w.closed.Store(true)
	return w.Conn.CloseWrite()
}
