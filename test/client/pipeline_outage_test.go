package client_test

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// gate is a host whose port can be closed.
type gate struct {
	*pipelineServer
	err   atomic.Pointer[error] // of dials, nil while the port is open
	takes time.Duration         // a dial
	dials atomic.Int64
}

func newGate(err error) *gate {
	g := &gate{pipelineServer: &pipelineServer{answer: namedAll}}
	g.close(err)
	return g
}

func (g *gate) close(err error) { g.err.Store(&err) }

func (g *gate) open() { g.err.Store(nil) }

func (g *gate) dial(addr string) (net.Conn, error) {
	g.dials.Add(1)
	time.Sleep(g.takes)
	if err := g.err.Load(); err != nil {
		return nil, *err
	}
	return g.pipelineServer.dial(addr)
}

var errGateClosed = errors.New("the port is closed")

// hammer calls from several goroutines once a millisecond, and requires that every call
// fails at once with the error of the dial.
func hammer(t *testing.T, c *gallop.PipelineClient, span time.Duration) {
	t.Helper()
	var wg sync.WaitGroup
	end := time.Now().Add(span)
	for range 16 {
		wg.Go(func() {
			req, resp := new(gallop.Request), new(gallop.Response)
			req.SetRequestURI("http://a.test/")
			for time.Now().Before(end) {
				begun := time.Now()
				if err := c.Do(req, resp); !errors.Is(err, errGateClosed) || time.Since(begun) > 0 {
					t.Errorf("error %v after %v", err, time.Since(begun))
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	wg.Wait()
}

func TestPipelineClosedPort(t *testing.T) {
	t.Parallel()
	for _, conns := range []int{1, 8} {
		t.Run(fmt.Sprint(conns, " connections"), func(t *testing.T) {
			g := newGate(errGateClosed)
			c := &gallop.PipelineClient{MaxConns: conns}
			testPipeline(t, g.pipelineServer, c, func(t *testing.T) {
				c.Dial = g.dial
				for range 3 { // closed from the start, and closed behind open connections
					g.dials.Store(0)
					hammer(t, c, time.Second)
					if n := g.dials.Load(); n > 10 || n < 9 {
						t.Errorf("%d dials in a second", n)
					}
					g.open()
					time.Sleep(100 * time.Millisecond)
					callPipeline(c, "GET", "/", 0).want(t, "GET/", nil)
					g.close(errGateClosed)
					c.CloseIdleConnections()
					time.Sleep(time.Minute)
				}
			})
		})
	}
}

// The limit also holds when connections break while they have calls.
func TestPipelinePortCloses(t *testing.T) {
	g := newGate(nil)
	g.open()
	g.answer = func(_, n int, req *gallop.Request) (string, bool) {
		time.Sleep(time.Second)
		return named(req), n == 0
	}
	c := &gallop.PipelineClient{MaxConns: 8}
	testPipeline(t, g.pipelineServer, c, func(t *testing.T) {
		c.Dial = g.dial
		round := func() (all []*pipelined) {
			for i := range 24 { // three for each connection
				all = append(all, callPipeline(c, "GET", fmt.Sprint("/", i), 0))
			}
			return all
		}
		all := round()
		g.close(errGateClosed)
		g.dials.Store(0)
		answered := 0
		for _, p := range all {
			if <-p.done; p.err == nil {
				answered++
			}
		}
		if answered != 16 { // two on each connection
			t.Errorf("%d calls were answered", answered)
		}
		hammer(t, c, time.Second)
		if n := g.dials.Load(); n > 11 { // with one at each end
			t.Errorf("%d dials in a second", n)
		}
	})
}

// Answers of connections that are open do not make the client dial more often.
func TestPipelinePortClosesBesideAnswers(t *testing.T) {
	g := newGate(nil)
	g.open()
	g.answer = func(_, _ int, req *gallop.Request) (string, bool) {
		time.Sleep(10 * time.Millisecond)
		return named(req), true
	}
	c := &gallop.PipelineClient{MaxConns: 8}
	testPipeline(t, g.pipelineServer, c, func(t *testing.T) {
		c.Dial = g.dial
		callPipeline(c, "GET", "/", 0).want(t, "GET/", nil)
		g.close(errGateClosed)
		g.dials.Store(0)
		for range 50 {
			first := callPipeline(c, "GET", "/", 0)
			callPipeline(c, "GET", "/", 0).want(t, "GET/", nil)
			first.want(t, "GET/", nil)
		}
		if n := g.dials.Load(); n < 5 || n > 11 { // with one at each end
			t.Errorf("%d dials in a second", n)
		}
	})
}

// Calls that come before the first connection is there get connections of their own.
func TestPipelineColdStart(t *testing.T) {
	g := newGate(nil)
	g.open()
	g.takes = time.Second
	g.answer = func(_, _ int, req *gallop.Request) (string, bool) {
		time.Sleep(time.Minute)
		return named(req), true
	}
	c := &gallop.PipelineClient{MaxConns: 4}
	testPipeline(t, g.pipelineServer, c, func(t *testing.T) {
		c.Dial = g.dial
		var all []*pipelined
		for i := range 4 {
			all = append(all, callPipeline(c, "POST", fmt.Sprint("/", i), 0))
		}
		for i, p := range all {
			if p.want(t, fmt.Sprint("POST/", i), nil); p.took > 62*time.Second {
				t.Errorf("call %d took %v", i, p.took)
			}
		}
	})
}

// When no further connection can be made, the ones that are there serve on.
func TestPipelineServesOnOpenConnections(t *testing.T) {
	g := newGate(nil)
	g.open()
	g.answer = func(_, n int, req *gallop.Request) (string, bool) {
		time.Sleep(time.Second)
		return named(req), true
	}
	c := &gallop.PipelineClient{MaxConns: 4}
	testPipeline(t, g.pipelineServer, c, func(t *testing.T) {
		c.Dial = g.dial
		first := callPipeline(c, "GET", "/0", 0)
		g.close(errGateClosed)
		for i := range 10 {
			defer callPipeline(c, "GET", fmt.Sprint("/", i), 0).want(t, fmt.Sprint("GET/", i), nil)
		}
		first.want(t, "GET/0", nil)
	})
}

// If a connection cannot be made, its calls move to an open connection, and not to one that is still being dialed.
func TestPipelineMovesCallsToOpenConnections(t *testing.T) {
	s := &pipelineServer{answer: func(_, _ int, req *gallop.Request) (string, bool) {
		time.Sleep(10 * time.Second)
		return named(req), true
	}}
	c := &gallop.PipelineClient{MaxConns: 3}
	testPipeline(t, s, c, func(t *testing.T) {
		var dials atomic.Int64
		c.Dial = func(addr string) (net.Conn, error) {
			switch dials.Add(1) {
			case 2:
				time.Sleep(time.Hour)
			case 3:
				time.Sleep(time.Second)
				return nil, errGateClosed
			}
			return s.dial(addr)
		}
		open := callPipeline(c, "GET", "/open", 0)
		dialing := callPipeline(c, "GET", "/dialing", 0)
		moved := callPipeline(c, "GET", "/moved", 0)
		callPipeline(c, "GET", "/behind", 0).want(t, "GET/behind", nil) // so that the open connection has the most calls
		open.want(t, "GET/open", nil)
		moved.want(t, "GET/moved", nil)
		if moved.took != 30*time.Second {
			t.Errorf("took %v, want the third turn on the open connection", moved.took)
		}
		dialing.want(t, "GET/dialing", nil)
	})
}

// Over TCP, with TLS or without, the error is the one that the dial returned.
func TestPipelineClosedSocket(t *testing.T) {
	addr := wiretest.FreeAddress(t)
	for _, secured := range []bool{false, true} {
		dials := 0
		c := &gallop.PipelineClient{Addr: addr, IsTLS: secured, Dial: func(addr string) (net.Conn, error) {
			dials++
			return net.Dial("tcp", addr)
		}}
		req := new(gallop.Request)
		req.SetRequestURI(map[bool]string{false: "http://", true: "https://"}[secured] + addr + "/")
		begun := time.Now()
		for range 1000 {
			var op *net.OpError
			if err := c.Do(req, nil); !errors.As(err, &op) || op.Op != "dial" {
				t.Fatalf("TLS %v: error %v", secured, err)
			}
		}
		if most := 1 + int(time.Since(begun)/retryAfter); dials > most {
			t.Errorf("TLS %v: %d dials, want at most %d", secured, dials, most)
		}
	}
}
