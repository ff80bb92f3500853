package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// Event loops read from several connections before they serve them, and serve several before they send the responses.
// Here they are made to do so, and what may go wrong in between does.

// gate holds up a loop in the first call of a kind that it makes once the gate is shut.
type gate struct {
	call string

	mu   sync.Mutex
	shut chan struct{} // nil: it is open
	held chan struct{} // closed when a loop is held up
}

func newGate(k *wiretest.Kernel, call string) *gate {
	g := &gate{call: call}
	k.Step = func(call string, _ int) {
		g.mu.Lock()
		shut := g.shut
		if call != g.call || shut == nil {
			g.mu.Unlock()
			return
		}
		g.shut = nil
		close(g.held)
		g.mu.Unlock()
		<-shut
	}
	return g
}

// while calls f while the loop is held up in a call that it makes for trigger.
func (g *gate) while(trigger, f func()) {
	shut, held := make(chan struct{}), make(chan struct{})
	g.mu.Lock()
	g.shut, g.held = shut, held
	g.mu.Unlock()
	trigger()
	<-held
	f()
	synctest.Wait()
	close(shut)
}

// talker is a client of a connection that is kept alive.
type talker struct {
	t *testing.T
	c *wiretest.Conn
	r *bufio.Reader
}

// talkers are n clients whose connections are idle.
func talkers(t *testing.T, ln *wiretest.KernelListener, n int) []talker {
	all := make([]talker, n)
	for i := range all {
		c, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		all[i] = talker{t, c.(*wiretest.Conn), bufio.NewReader(c)}
		for _, path := range []string{"/accepted", "/idle"} { // once by who has accepted it
			all[i].ask(path)
			all[i].want(path)
		}
	}
	synctest.Wait()
	return all
}

func (a talker) ask(path string) {
	a.t.Helper()
	if _, err := io.WriteString(a.c, wiretest.Get(path)); err != nil {
		a.t.Fatal(err)
	}
}

// want reads a response and wants it to be the one to a request for path.
func (a talker) want(path string) {
	a.t.Helper()
	var resp gallop.Response
	_ = a.c.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) // some ticks of the watchdog
	if err := resp.Read(a.r); err != nil || string(resp.Body()) != path {
		a.t.Errorf("%s: %q, %v", path, resp.Body(), err)
	}
}

func sayPath(ctx *gallop.RequestCtx) { ctx.SetBodyString(string(ctx.Path())) }

// A connection that has been served does not wait for one that takes long, and neither does a connection that waits
// to be served.
func TestLoopAnswersPassHandlersThatBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		ln, k := serveInMemory(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if strings.HasSuffix(string(ctx.Path()), "/block") {
				<-blocked
			}
			sayPath(ctx)
		}})
		all := talkers(t, ln, 41)
		newGate(k, "write").while(func() { all[0].ask("/held") }, func() {
			for i, a := range all[1:] {
				a.ask(fmt.Sprintf("/%d/%s", i, word(i)))
			}
		})
		all[0].want("/held")
		for i, a := range all[1:] {
			if word(i) != "block" {
				a.want(fmt.Sprintf("/%d/fast", i))
			}
		}
		close(blocked)
		for i, a := range all[1:] {
			if word(i) == "block" {
				a.want(fmt.Sprintf("/%d/block", i))
			}
			a.ask("/again")
			a.want("/again")
		}
	})
}

func word(i int) string {
	if i%7 == 3 {
		return "block"
	}
	return "fast"
}

// A client that does not read its response holds up no other client, and gets all of it.
func TestLoopAnswersPassClientsThatDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := strings.Repeat("b", 3000)
		ln, k := serveInMemory(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			sayPath(ctx)
			if string(ctx.Path()) == "/long" {
				ctx.SetBodyString(body)
			}
		}})
		all := talkers(t, ln, 4)
		all[1].c.SetWindow(10)
		newGate(k, "write").while(func() { all[0].ask("/held") }, func() {
			for _, a := range all[1:] {
				a.ask("/long")
			}
		})
		for _, i := range []int{2, 3, 1} {
			all[i].want(body)
			all[i].ask("/after")
			all[i].want("/after")
		}
	})
}

// A request that arrives before the response to the previous one has left is served after it.
func TestLoopAnswersRequestsInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln, k := serveInMemory(t, &gallop.Server{Handler: sayPath})
		all := talkers(t, ln, 2)
		newGate(k, "write").while(func() { all[0].ask("/one") }, func() {
			all[0].ask("/two")
			all[1].ask("/other")
			all[0].ask("/three")
		})
		all[0].want("/one")
		all[0].want("/two")
		all[0].want("/three")
		all[1].want("/other")
	})
}

// A response that has not left when the server shuts down leaves before its connection is closed.
func TestLoopAnswersBeforeItShutsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gallop.Server{Handler: sayPath}
		ln, k := serveInMemory(t, s)
		all := talkers(t, ln, 2)
		ended, begun := make(chan error, 1), time.Now()
		newGate(k, "write").while(func() { all[0].ask("/last") }, func() {
			go func() { ended <- s.ShutdownWithContext(context.Background()) }()
			time.Sleep(time.Second)
		})
		all[0].want("/last")
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 1100*time.Millisecond { // and the loop was held up for a second
			t.Errorf("shutting down took %v", took)
		}
		for _, a := range all {
			_ = a.c.SetReadDeadline(time.Time{})
			if b, err := io.ReadAll(a.r); len(b) > 0 || err != nil {
				t.Errorf("%q, %v behind the last answer", b, err)
			}
		}
	})
}

// A client that has disconnected before its response leaves costs the other clients nothing.
func TestLoopAnswersClientsThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln, k := serveInMemory(t, &gallop.Server{Handler: sayPath})
		all := talkers(t, ln, 20)
		newGate(k, "after read").while(func() { all[0].ask("/held") }, func() {
			for i, a := range all[1:] {
				if a.ask("/any"); i%3 == 0 {
					a.c.Reset()
				}
			}
		})
		all[0].want("/held")
		for i, a := range all[1:] {
			if i%3 != 0 {
				a.want("/any")
			}
		}
	})
}

// Bytes that were read before their connection is served are neither lost nor given to another connection, whichever
// worker serves it then. The cases are whole heads, parts of heads, more than was read, and ends of input.
func TestLoopReadsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		ln, k := serveInMemory(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/block" {
				<-blocked
			}
			ctx.SetBodyString(string(ctx.Path()) + string(ctx.Request.Header.Peek("X-Long")))
		}})
		all := talkers(t, ln, 5)
		long := strings.Repeat("l", 10<<10)
		newGate(k, "write").while(func() { all[0].ask("/held") }, func() {
			all[0].ask("/block")
			_, _ = io.WriteString(all[1].c, "GET /part HTTP/1.1\r\nHo")
			_, _ = io.WriteString(all[2].c, wiretest.Get("/", "X-Long: "+long))
			_, _ = io.WriteString(all[3].c, wiretest.Get("/1")+wiretest.Get("/2"))
			all[4].ask("/end")
			_ = all[4].c.CloseWrite()
		})
		all[0].want("/held")
		time.Sleep(5 * time.Millisecond)
		all[2].want("/" + long)
		all[3].want("/1")
		all[3].want("/2")
		all[4].want("/end")
		if _, err := all[4].r.ReadByte(); err != io.EOF {
			t.Errorf("%v, want the end", err)
		}
		_, _ = io.WriteString(all[1].c, "st: h\r\n\r\n")
		all[1].want("/part")
		close(blocked)
		all[0].want("/block")
	})
}
