//go:build linux

package load

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// serve starts a server that counts its connections, and returns its address.
func serve(t *testing.T, h http.HandlerFunc) (address string, conns *atomic.Int64) {
	conns = new(atomic.Int64)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), conns
}

// start starts a load and returns a function that stops it and waits for its end.
func start(t *testing.T, p Plan) (l *Load, stop func()) {
	t.Helper()
	l, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := l.Run(); err != nil {
			t.Error(err)
		}
	}()
	return l, func() { l.Stop(); <-ended }
}

// progress returns the result so far, without taking it.
func (l *Load) progress() Result {
	l.control.Cut()
	time.Sleep(5 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now.result(l.scenarios)
}

// runFor runs a load until this many requests are done.
func runFor(t *testing.T, p Plan, requests int) (r Result) {
	t.Helper()
	l, stop := start(t, p)
	defer stop()
	for begun := time.Now(); time.Since(begun) < 20*time.Second; {
		if done, lost := l.progress().Sum(); done+lost >= requests {
			break
		}
	}
	r = l.Take()
	if done, lost := r.Sum(); done < requests || lost > 0 {
		t.Fatalf("%d requests done, %d lost: %+v", done, lost, r)
	}
	return r
}

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }

func TestClosedLoop(t *testing.T) {
	address, conns := serve(t, ok)
	r := runFor(t, Plan{Address: address, Conns: 8, Kinds: []Kind{{Name: "get", Octets: Get("/")}}}, 1000)
	if n := conns.Load(); n != 8 || r.Closed != 0 || len(r.Errors) > 0 {
		t.Errorf("%d connections, %+v", n, r)
	}
	if k := r.Kinds["get"]; k.P50 <= 0 || k.P50 > k.P99 || k.P99 > k.Most {
		t.Errorf("%+v", k)
	}
}

// TestCountsOfBothSides compares the counts of several Takes, and of the rest after the end, with those of the server.
func TestCountsOfBothSides(t *testing.T) {
	var served atomic.Int64
	address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { served.Add(1); ok(w, r) })
	for _, p := range []Plan{{Conns: 8}, {Conns: 8, PerConn: 3}, {Conns: 8, Rate: 2000}, {Conns: 8, Rate: 1000, Churn: 200}, {Churn: 500}} {
		p.Address, p.Kinds = address, []Kind{{Name: "get", Octets: Get("/")}}
		served.Store(0)
		l, stop := start(t, p)
		done, lost, seconds := 0, 0, 0.0
		take := func() {
			r := l.Take()
			d, n := r.Sum()
			done, lost, seconds = done+d, lost+n, seconds+r.Seconds
		}
		begun := time.Now()
		for range 5 {
			time.Sleep(50 * time.Millisecond)
			take()
		}
		stop()
		take()
		took := time.Since(begun)
		// Requests in flight at the end are served, but not done.
		if n := int(served.Load()); lost > 0 || done == 0 || done > n || done < n-8 && p.Churn == 0 || done < n-200 {
			t.Errorf("%+v: %d done, %d lost, the server has seen %d", p, done, lost, n)
		}
		if d := took.Seconds() - seconds; d < 0 || d > .2 {
			t.Errorf("%+v: the periods have %.3f s of %v", p, seconds, took)
		}
	}
}

func TestImpossibleRates(t *testing.T) {
	for _, rate := range []float64{-1, math.NaN(), math.Inf(1), 1e10} {
		for _, p := range []Plan{{Rate: rate}, {Churn: rate}} {
			p.Address, p.Kinds = "127.0.0.1:1", []Kind{{Octets: Get("/")}}
			p.Conns = 1
			l, err := New(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Run(); err == nil {
				t.Errorf("%+v is not refused", p)
			}
		}
	}
}

func TestPerConn(t *testing.T) {
	address, _ := serve(t, ok)
	r := runFor(t, Plan{Address: address, Conns: 4, PerConn: 10, Kinds: []Kind{{Name: "get", Octets: Get("/")}}}, 1000)
	done, _ := r.Sum()
	if r.Opened < done/10-4 || r.Opened > done/10+4 {
		t.Errorf("%d connections for %d requests", r.Opened, done)
	}
}

func TestRateAndShares(t *testing.T) {
	address, _ := serve(t, ok)
	r := runFor(t, Plan{Address: address, Conns: 16, Rate: 2000, Seed: 1, Kinds: []Kind{
		{Name: "often", Share: 9, Octets: Get("/")},
		{Name: "seldom", Share: 1, Octets: Get("/")},
	}}, 2000)
	done, _ := r.Sum()
	if rate := float64(done) / r.Seconds; rate > 2500 {
		t.Errorf("%.0f requests/s instead of 2000", rate)
	}
	if share := float64(r.Kinds["seldom"].Done) / float64(done); math.Abs(share-.1) > .04 {
		t.Errorf("a share of %.3f instead of 0.1", share)
	}
}

// TestGrain shows that requests that become due while the load sleeps are sent together, and that none is left out.
func TestGrain(t *testing.T) {
	const grain = 20 * time.Millisecond
	address, _ := serve(t, ok)
	r := runFor(t, Plan{Address: address, Conns: 400, Rate: 2000, Grain: grain, Seed: 1, Kinds: []Kind{{Name: "get", Octets: Get("/")}}}, 2000)
	done, _ := r.Sum()
	if rate := float64(done) / r.Seconds; rate > 2500 {
		t.Errorf("%.0f requests/s instead of 2000", rate)
	}
	if k := r.Kinds["get"]; k.P50 < grain {
		t.Errorf("answers were looked for while it should have slept: %+v", k)
	}
}

// TestLatencyCountsFromWhenARequestWasDue uses a server that stalls while requests become due.
func TestLatencyCountsFromWhenARequestWasDue(t *testing.T) {
	var served atomic.Int64
	const pause = 300 * time.Millisecond
	address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if served.Add(1) == 50 {
			time.Sleep(pause)
		}
		ok(w, r)
	})
	r := runFor(t, Plan{Address: address, Conns: 1, Rate: 500, Seed: 1, Kinds: []Kind{{Name: "get", Octets: Get("/")}}}, 400)
	if k := r.Kinds["get"]; k.P90 < pause/10 {
		t.Errorf("a pause of %v shows in one latency only: %+v", pause, k)
	}
}

func TestAfter(t *testing.T) {
	address, _ := serve(t, ok)
	r := runFor(t, Plan{Address: address, Conns: 8, Churn: 500, Seed: 1, Kinds: []Kind{
		{Name: "keep", Share: 1, Octets: Get("/")},
		{Name: "refused", Share: 1, Octets: []byte("GET / HTTP/1.1\r\nHost : x\r\n\r\n"), After: Refusal},
		{Name: "shut", Share: 1, Octets: []byte("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), After: Shut},
		{Name: "cut", Share: 1, Octets: []byte("GET / HTTP/1.1\r\nHo"), After: Reset},
	}}, 2000)
	for name, k := range r.Kinds {
		if k.Done == 0 {
			t.Errorf("nothing of the kind %s was done: %+v", name, r)
		}
	}
	if len(r.Errors) > 0 {
		t.Errorf("%v", r.Errors)
	}
}

// TestLost shows that failures are counted.
func TestLost(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for n := 0; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				http.ReadRequest(bufio.NewReader(c))
				fmt.Fprint(c, []string{"", "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}[n%3])
			}()
		}
	}()
	l, stop := start(t, Plan{Address: ln.Addr().String(), Conns: 3, Kinds: []Kind{{Name: "get", Octets: Get("/")}}})
	defer stop()
	var r Result
	for begun := time.Now(); time.Since(begun) < 20*time.Second && len(r.Errors) < 2; {
		r = l.progress()
	}
	if _, lost := r.Sum(); lost == 0 || len(r.Errors) < 2 {
		t.Errorf("%+v", r)
	}
}

func TestHold(t *testing.T) {
	address, conns := serve(t, ok)
	h, err := NewHold(address, Get("/"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for range 2 {
		if err := h.Open(20); err != nil {
			t.Fatal(err)
		}
	}
	took, err := h.Ask(30, rand.New(rand.NewPCG(1, 2)))
	if err != nil || took <= 0 || conns.Load() != 40 {
		t.Errorf("%v, %d connections, %v", took, conns.Load(), err)
	}
	gone, _ := NewHold(address, []byte("GET / HTTP/1.0\r\n\r\n"), 0)
	defer gone.Close()
	if err := gone.Open(1); err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Ask(1, rand.New(rand.NewPCG(1, 2))); err == nil {
		t.Error("a connection that the server has closed is said to live")
	}
}

// A load that has fallen behind sends as fast as it can, however many requests are due.
func TestBacklog(t *testing.T) {
	address, _ := serve(t, ok)
	plan := Plan{Address: address, Conns: 8, Kinds: []Kind{{Name: "get", Octets: Get("/")}}}
	rate := func() float64 {
		l, stop := start(t, plan)
		defer stop()
		time.Sleep(200 * time.Millisecond)
		l.Take()
		time.Sleep(300 * time.Millisecond)
		r := l.Take()
		done, _ := r.Sum()
		return float64(done) / r.Seconds
	}
	free := rate()
	plan.Rate = 3e6 // more than the server can handle, fewer than the load can generate
	if behind := rate(); behind < free/10 {
		t.Errorf("%.0f requests/s, and %.0f when millions are due", free, behind)
	}
}
