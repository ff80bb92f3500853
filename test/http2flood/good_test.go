package http2flood

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
	"golang.org/x/net/http2"
)

// goodClient sends requests on a connection of its own.
type goodClient struct {
	transport *http2.Transport
	url       string
	dials     atomic.Int64
}

func newGoodClient(addr string) *goodClient {
	g := &goodClient{url: "http://" + addr}
	dial := func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
		g.dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	g.transport = &http2.Transport{AllowHTTP: true, DialTLSContext: dial, StrictMaxConcurrentStreams: true}
	return g
}

func (g *goodClient) close() { g.transport.CloseIdleConnections() }

// latency is how long requests took.
type latency struct {
	n   int
	p99 time.Duration
}

// measure sends requests until a time. Each must succeed.
func (g *goodClient) measure(t *testing.T, end time.Time) latency {
	t.Helper()
	var took []time.Duration
	for time.Now().Before(end) {
		begun := time.Now()
		if err := g.do(context.Background(), "GET", "/", nil); err != nil {
			t.Errorf("a good client: %v", err)
			return latency{}
		}
		took = append(took, time.Since(begun))
		time.Sleep(2 * time.Millisecond)
	}
	slices.Sort(took)
	return latency{len(took), took[len(took)*99/100]}
}

// do sends a request and reads the response.
func (g *goodClient) do(ctx context.Context, method, path string, body io.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, g.url+path, body)
	if err != nil {
		return err
	}
	resp, err := g.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// cancel sends n requests at the same time and cancels them after a while.
func (g *goodClient) cancel(t *testing.T, n int, path string, after time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			if err := g.do(ctx, "GET", path, nil); err != nil && ctx.Err() == nil {
				t.Errorf("a request that is not canceled yet: %v", err)
			}
		})
	}
	group.Wait()
}

// Clients that use as much as they may are never cut.
func TestGoodClients(t *testing.T) {
	runBeside(t)
	clients := []struct {
		name string
		run  func(t *testing.T, g *goodClient, end time.Time)
	}{
		{"browser that cancels 100 loads at once", cancelLoads},
		{"gRPC with one call in 20 canceled", cancelCalls},
		{"gRPC with small messages", smallMessages},
		{"slow loads", func(t *testing.T, g *goodClient, end time.Time) {
			for time.Now().Before(end) {
				g.cancel(t, streams, "/big?n=100000", time.Minute)
			}
		}},
	}
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		t.Parallel() // nothing here depends on how much of the processor a server gets
		s := start(t, over, stream)
		end := time.Now().Add(floodTime())
		var group sync.WaitGroup
		for _, c := range clients {
			group.Go(func() {
				g := newGoodClient(s.addr)
				defer g.close()
				if err := g.do(context.Background(), "GET", "/", nil); err != nil { // a connection for all that follows
					t.Errorf("%s: %v", c.name, err)
					return
				}
				c.run(t, g, end)
				if n := g.dials.Load(); n != 1 {
					t.Errorf("%s: %d connections, want 1: the server has ended some", c.name, n)
				}
			})
		}
		group.Go(func() { pings(t, s, end) })
		group.Wait()
	})
}

// cancelLoads is a user who loads pages with 100 parts, and leaves each before it is there.
func cancelLoads(t *testing.T, g *goodClient, end time.Time) {
	if err := g.do(context.Background(), "GET", "/", nil); err != nil { // a dial that is canceled would be one of the dials
		t.Errorf("before the first load: %v", err)
		return
	}
	for n := 0; n == 0 || time.Now().Before(end); n++ {
		g.cancel(t, streams, "/hang", 50*time.Millisecond)
		if err := g.do(context.Background(), "GET", "/", nil); err != nil {
			t.Errorf("between two loads: %v", err)
			return
		}
		pause := 3 * time.Second
		if n < 2 {
			pause = 500 * time.Millisecond
		}
		time.Sleep(min(pause, time.Until(end)))
	}
}

// cancelCalls makes calls as fast as it can.
func cancelCalls(t *testing.T, g *goodClient, end time.Time) {
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				if n%20 == 19 {
					g.cancel(t, 1, "/slow", time.Millisecond)
				} else if err := g.do(context.Background(), "POST", "/read", strings.NewReader("\x00\x00\x00\x00\x05hello")); err != nil {
					t.Errorf("call %d: %v", n, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// smallMessages is a stream of messages that come back. Each has a DATA frame of its own.
func smallMessages(t *testing.T, g *goodClient, end time.Time) {
	from, to := io.Pipe()
	go func() {
		for time.Now().Before(end) {
			if _, err := to.Write([]byte("\x00\x00\x00\x00\x01m")); err != nil {
				return
			}
		}
		to.Close()
	}()
	r, err := http.NewRequest("POST", g.url+"/echo", from)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := g.transport.RoundTrip(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n == 0 {
		t.Errorf("after %d bytes of messages: %v", n, err)
	}
}

// pings measures the delay as gRPC does, without requests.
func pings(t *testing.T, s *site, end time.Time) {
	p, err := dial(s.addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer p.nc.Close()
	for time.Now().Before(end) {
		p.note(p.WritePing(false, [8]byte{1}))
		p.flush()
		time.Sleep(20 * time.Millisecond)
	}
	p.wantAlive(t)
}
