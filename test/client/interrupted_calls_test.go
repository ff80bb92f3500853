package client_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// When a connection ends one call and begins another, nothing that belongs to the first call may reach it: not its
// stream being closed, its response being released, its context ending, or its body still being written.

// stealRun is calls over few connections: some are ended by force from several
// goroutines, the others do nothing that could go wrong, and so must not.
type stealRun struct {
	faultRun
	c      *gallop.HostClient
	forced atomic.Int64
}

// TestClientNeverDisturbsAnotherCall ends streams in all ways at once, over a pool that
// hands each connection on at once. The calls in between have no deadline and nobody
// who ends them, so whatever goes wrong with them was meant for another one.
func TestClientNeverDisturbsAnotherCall(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	span := 700 * time.Millisecond
	switch {
	case wiretest.Long():
		span = 30 * time.Second
	case !wiretest.Full():
		span = 300 * time.Millisecond
	}
	for _, uploads := range []bool{false, true} {
		t.Run(fmt.Sprint("uploads ", uploads), func(t *testing.T) {
			wiretest.CheckLeaks(t)
			s := &gallop.Server{Handler: serveSteal, Logger: servertest.Quiet, MaxRequestBodySize: -1}
			dial := wiretest.Dialer(func(c net.Conn) error {
				defer c.Close()
				return s.ServeConn(c)
			})
			r := &stealRun{c: &gallop.HostClient{
				Addr: "h1.test:80", MaxConns: 3, MaxConnWaitTimeout: time.Minute, StreamResponseBody: true,
				Dial: func(string) (net.Conn, error) { return dial() },
			}}
			if uploads {
				r.c.ReadTimeout = time.Minute // moves the deadline when a body was sent
			}
			r.run(span, uploads)
			r.c.CloseIdleConnections()
			r.verify(t, nil)
			t.Logf("%d calls in peace, %d ended by force", r.answered.Load(), r.forced.Load())
			if r.answered.Load() == 0 || r.forced.Load() == 0 {
				t.Error("nothing happened")
			}
		})
	}
}

// serveSteal answers /id with the body of that call, in one piece or in many.
func serveSteal(ctx *gallop.RequestCtx) {
	id, _ := strconv.Atoi(strings.TrimPrefix(string(ctx.Path()), "/"))
	body := bodyOfCall(id)
	if id%2 == 0 {
		ctx.SetBodyString(body)
		return
	}
	ctx.Response.Header.SetTrailer("X-Call")
	ctx.Response.Header.Set("X-Call", strconv.Itoa(id))
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		for part := range strings.SplitAfterSeq(body, "]") {
			_, _ = w.WriteString(part)
			_ = w.Flush()
		}
	})
}

func (r *stealRun) run(span time.Duration, uploads bool) {
	end := time.Now().Add(span)
	var ids atomic.Int64
	var group sync.WaitGroup
	for caller := range 24 {
		group.Go(func() {
			for time.Now().Before(end) {
				if id := int(ids.Add(1)); caller%2 == 0 {
					r.peaceful(id, uploads)
				} else {
					r.ended(id, uploads)
				}
			}
		})
	}
	group.Wait()
}

func stealRequest(req *gallop.Request, id int, uploads bool) {
	req.SetRequestURI(fmt.Sprint("http://h1.test/", id))
	if uploads {
		req.Header.SetMethod("POST")
		req.SetBodyStream(strings.NewReader(bodyOfCall(id)), -1)
	}
}

// peaceful makes a call that has to succeed.
func (r *stealRun) peaceful(id int, uploads bool) {
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(req)
	defer gallop.ReleaseResponse(resp)
	stealRequest(req, id, uploads)
	if err := r.c.Do(req, resp); err != nil {
		r.fail("call %d: %v", id, err)
		return
	}
	got, err := io.ReadAll(resp.BodyStream())
	if err != nil || string(got) != bodyOfCall(id) {
		r.fail("call %d: got %.60q, want %.60q, %v", id, got, bodyOfCall(id), err)
		return
	}
	r.answered.Add(1)
}

// ended makes a call whose stream is read by one goroutine, closed by others, and whose
// context ends and response is released, all at about the same time.
func (r *stealRun) ended(id int, uploads bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(req)
	stealRequest(req, id, uploads)
	if err := r.c.DoContext(ctx, req, resp); err != nil {
		r.fail("call %d: %v", id, err)
		return
	}
	stream := resp.BodyStream()
	var group sync.WaitGroup
	group.Go(func() {
		got, err := io.ReadAll(stream)
		if want := bodyOfCall(id); !strings.HasPrefix(want, string(got)) || err == nil && string(got) != want {
			r.fail("call %d: got %.60q, want %.60q, %v", id, got, want, err)
		}
	})
	for _, end := range []func(){
		cancel,
		func() { _ = stream.(io.Closer).Close() },
		func() { _ = stream.(io.Closer).Close() },
		func() { gallop.ReleaseResponse(resp) },
	} {
		pause := rand.IntN(1000)
		group.Go(func() {
			for range pause {
				_ = time.Now()
			}
			end()
		})
	}
	group.Wait()
	r.forced.Add(1)
}

// heldConn is a connection on which a read that got something returns when somebody has
// interrupted it.
type heldConn struct {
	net.Conn
	held   bool // whether it does that
	hits   chan struct{}
	passed chan struct{}
}

func (c *heldConn) SetDeadline(at time.Time) error {
	if c.held {
		c.passed <- struct{}{}
		return nil
	}
	return c.Conn.SetDeadline(at)
}

func (c *heldConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.held {
		c.hits <- struct{}{}
		<-c.passed
	}
	return n, err
}

func (c *heldConn) Stale() bool { return false }

// Interrupted just when all has come, a call may end well. Its connection does not go to
// the next one.
func TestClientInterruptedTooLate(t *testing.T) {
	for name, end := range map[string]func(cancel func(), stream io.Reader){
		"by the context": func(cancel func(), _ io.Reader) { cancel() },
		"by Close":       func(_ func(), stream io.Reader) { _ = stream.(io.Closer).Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var conns []*heldConn
				u := &upstream{serve: func(_ int, c *wiretest.Conn) {
					serveEach(c, func(int, *gallop.Request) string {
						time.AfterFunc(time.Second, func() { _, _ = io.WriteString(c, "hello") })
						return strings.TrimSuffix(ok5, "hello")
					})
				}}
				c := &gallop.HostClient{Addr: "a", StreamResponseBody: true, Dial: func(addr string) (net.Conn, error) {
					nc, err := u.dial(addr)
					conns = append(conns, &heldConn{Conn: nc, hits: make(chan struct{}), passed: make(chan struct{})})
					return conns[len(conns)-1], err
				}}
				defer c.CloseIdleConnections()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var resp gallop.Response
				if err := c.DoContext(ctx, getRequest("/"), &resp); err != nil {
					t.Fatal(err)
				}
				conns[0].held = true
				stream := resp.BodyStream()
				go func() {
					<-conns[0].hits
					end(cancel, stream)
				}()
				if n, err := stream.Read(make([]byte, 10)); n != 5 {
					t.Errorf("read %d, %v", n, err)
				}
				synctest.Wait()
				conns[0].held = false
				var next gallop.Response
				if err := c.Do(getRequest("/"), &next); err != nil || string(next.Body()) != "hello" {
					t.Errorf("the next call: %v, %q", err, next.Body())
				}
				if len(conns) != 2 {
					t.Errorf("%d connections", len(conns))
				}
			})
		})
	}
}
