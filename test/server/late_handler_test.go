package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// lateRequests are requests whose handlers are left behind by TimeoutHandler. The path says what the handler does first.
var lateRequests = map[string]struct {
	request string
	status  int
}{
	"/plain":  {"GET /plain HTTP/1.1\r\nHost: late\r\nX-Own: /plain\r\n\r\n", 408},
	"/body":   {"POST /body HTTP/1.1\r\nHost: late\r\nX-Own: /body\r\nContent-Length: 10\r\n\r\nhello", 408},
	"/reads":  {"POST /reads HTTP/1.1\r\nHost: late\r\nX-Own: /reads\r\nContent-Length: 10\r\n\r\nhello", 408},
	"/expect": {"POST /expect HTTP/1.1\r\nHost: late\r\nX-Own: /expect\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n", 408},
	"/stream": {"GET /stream HTTP/1.1\r\nHost: late\r\nX-Own: /stream\r\n\r\n", 200}, // the response is cut off
}

// lateCalls makes the calls of a handler that was left behind. The results are errors, or belong to the handler's own request.
type lateCalls struct {
	mu     sync.Mutex
	ctx    *gallop.RequestCtx
	own    string
	done   <-chan struct{}
	conn   net.Conn
	remote string
	by     time.Time
	body   io.Reader
	read   bool
	told   atomic.Int64 // calls of functions that were passed to OnDisconnect
	asked  atomic.Int64 // calls of OnDisconnect
}

func newLateCalls(ctx *gallop.RequestCtx) *lateCalls {
	l := &lateCalls{ctx: ctx, own: string(ctx.Path()), done: ctx.Done(), conn: ctx.Conn(), remote: ctx.RemoteAddr().String()}
	l.by, _ = ctx.Deadline()
	if ctx.IsPost() {
		l.body = ctx.RequestBodyStream()
	}
	return l
}

// make makes all calls.
func (l *lateCalls) make() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, late := l.ctx, context.DeadlineExceeded
	if ctx.Done() != l.done || ctx.Err() != late {
		return fmt.Errorf("Done returns %v, want %v; Err returns %v", ctx.Done(), l.done, ctx.Err())
	}
	if by, ok := ctx.Deadline(); !ok || !by.Equal(l.by) {
		return fmt.Errorf("Deadline returns %v, %v, want %v", by, ok, l.by)
	}
	if ctx.Conn() != l.conn || ctx.RemoteAddr().String() != l.remote || string(ctx.Request.Header.Peek("X-Own")) != l.own {
		return fmt.Errorf("the request is %q from %v, want %s from %s", ctx.Request.Header.String(), ctx.RemoteAddr(), l.own, l.remote)
	}
	l.asked.Add(1)
	stop := ctx.OnDisconnect(func(cause error) {
		if cause == late {
			l.told.Add(1)
		}
	})
	if stop() {
		return errors.New("the server did not call the function passed to OnDisconnect")
	}
	for _, at := range []time.Time{time.Unix(1, 0), time.Now().Add(time.Hour), {}, time.Now().Add(-time.Second)} {
		if err1, err2 := ctx.SetReadDeadline(at), ctx.SetWriteDeadline(at); err1 != late || err2 != late {
			return fmt.Errorf("SetReadDeadline and SetWriteDeadline return %v, %v", err1, err2)
		}
	}
	if err := ctx.WriteInterim(gallop.StatusProcessing); err != late {
		return fmt.Errorf("WriteInterim returns %v", err)
	}
	if l.body != nil {
		p := make([]byte, 10)
		n, err := l.body.Read(p)
		if got := string(p[:n]); got == "hello" && !l.read {
			l.read = true // when the context had just ended
		} else if got != "" || err != gallop.ErrBodyClosed {
			return fmt.Errorf("Read returns %q, %v", got, err)
		}
	}
	if stream, err := ctx.StreamResponse(); stream != nil || err != late {
		return fmt.Errorf("StreamResponse returns %v, %v", stream, err)
	}
	return nil
}

// lateAfter is how long TimeoutHandler waits. A handler that the machine stops for longer cannot do what comes first.
const lateAfter = 500 * time.Millisecond

// Handlers that TimeoutHandler has left behind go on using their requests, beside 100 further requests on the same worker. Some
// use them all the time, and others whenever a further request is in its middle.
func TestLateHandlers(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		t.Parallel()
		over, late := make(chan struct{}), make(chan *lateCalls, len(lateRequests))
		var calls []*lateCalls
		var left sync.WaitGroup
		leave := gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
			defer left.Done()
			l := newLateCalls(ctx)
			switch l.own {
			case "/reads":
				if err := ctx.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
					t.Errorf("%s: %v", l.own, err)
				}
				go func() { _, _ = io.Copy(io.Discard, l.body) }()
			case "/stream":
				if w, err := ctx.StreamResponse(); err != nil || w.Flush() != nil {
					t.Errorf("%s: %v", l.own, err)
				}
			}
			<-l.done
			late <- l
			for {
				if err := l.make(); err != nil {
					t.Errorf("%s: %v", l.own, err)
					return
				}
				select {
				case <-over:
					return
				case <-time.After(50 * time.Microsecond):
				}
			}
		}, lateAfter, "late")
		s := &gallop.Server{PoisonReleased: true, StreamRequestBody: true, Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
			if _, isLate := lateRequests[string(ctx.Path())]; isLate {
				left.Add(1)
				leave(ctx)
				return
			}
			furtherRequest(t, ctx, calls)
		}}
		ln := on.Listen(s)
		servertest.SetLoops(s, 1)
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()

		conns := map[string]net.Conn{}
		for path, r := range lateRequests {
			conns[path] = dialLate(t, ln)
			if _, err := io.WriteString(conns[path], r.request); err != nil {
				t.Error(err)
			}
		}
		for path, r := range lateRequests {
			c := conns[path]
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != r.status {
				t.Fatalf("%s: %v, %v", path, resp, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = c.Close()
			calls = append(calls, <-late)
		}
		askBesideLateHandlers(t, ln, 100)
		close(over)
		left.Wait()
		for _, l := range calls {
			for range 5000 {
				if l.told.Load() == l.asked.Load() {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if told, asked := l.told.Load(), l.asked.Load(); told != asked {
				t.Errorf("%s: %d of %d functions passed to OnDisconnect were called with DeadlineExceeded", l.own, told, asked)
			}
		}
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func dialLate(t *testing.T, ln servertest.Listener) net.Conn {
	t.Helper()
	c, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	return c
}

// furtherRequest is the handler of a request that must not notice the late handlers.
func furtherRequest(t *testing.T, ctx *gallop.RequestCtx, calls []*lateCalls) {
	own := string(ctx.Path())
	n, _ := strconv.Atoi(own[1:])
	body, half := ctx.RequestBodyStream(), make([]byte, 5)
	if _, err := io.ReadFull(body, half); err != nil {
		t.Errorf("%s: %v", own, err)
	}
	switch n % 4 {
	case 1:
		ctx.Done()
	case 2:
		err1, err2 := ctx.SetReadDeadline(time.Now().Add(time.Hour)), ctx.SetWriteDeadline(time.Now().Add(time.Hour))
		if err1 != nil || err2 != nil {
			t.Errorf("%s: %v, %v", own, err1, err2)
		}
	case 3:
		if err := ctx.WriteInterim(gallop.StatusProcessing); err != nil {
			t.Errorf("%s: %v", own, err)
		}
	}
	for _, l := range calls {
		if err := l.make(); err != nil {
			t.Errorf("%s beside %s: %v", l.own, own, err)
		}
	}
	rest, err := io.ReadAll(body)
	if got := string(half) + string(rest); got != "body of "+own || string(ctx.Request.Header.Peek("X-Own")) != own || ctx.Err() != nil || err != nil {
		t.Errorf("%s: header %q, body %q, %v, %v", own, ctx.Request.Header.String(), got, err, ctx.Err())
	}
	ctx.Response.Header.Set("X-Own", own)
	if n%8 < 4 {
		fmt.Fprintf(ctx, "response to %s", own)
		return
	}
	w, err := ctx.StreamResponse()
	if err != nil {
		t.Errorf("%s: %v", own, err)
		return
	}
	_, _ = w.WriteString("response ")
	_ = w.Flush()
	for _, l := range calls {
		if err := l.make(); err != nil {
			t.Errorf("%s beside %s: %v", l.own, own, err)
		}
	}
	_, _ = w.WriteString("to " + own)
}

// askBesideLateHandlers makes n requests, one after the other. Half of them use new connections.
func askBesideLateHandlers(t *testing.T, ln servertest.Listener, n int) {
	kept := dialLate(t, ln)
	defer kept.Close()
	in := bufio.NewReader(kept)
	for i := range n {
		if i%16 < 8 {
			askOne(t, kept, in, i)
			continue
		}
		c := dialLate(t, ln)
		askOne(t, c, bufio.NewReader(c), i)
		_ = c.Close()
	}
}

func askOne(t *testing.T, c net.Conn, in *bufio.Reader, i int) {
	t.Helper()
	own := fmt.Sprintf("/%d", i)
	body := "body of " + own
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: further\r\nX-Own: %s\r\nContent-Length: %d\r\n\r\n%s", own, own, len(body), body[:7])
	if err == nil {
		_, err = io.WriteString(c, body[7:])
	}
	if err != nil {
		t.Fatalf("%s: %v", own, err)
	}
	resp, err := http.ReadResponse(in, nil)
	for err == nil && resp.StatusCode == gallop.StatusProcessing {
		resp, err = http.ReadResponse(in, nil)
	}
	if err != nil {
		t.Fatalf("%s: %v", own, err)
	}
	var got strings.Builder
	_, err = io.Copy(&got, resp.Body)
	if resp.StatusCode != 200 || resp.Header.Get("X-Own") != own || got.String() != "response to "+own || err != nil {
		t.Fatalf("%s: got %d, %v, %q, %v", own, resp.StatusCode, resp.Header, got.String(), err)
	}
}
