//go:build linux

package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestParseAnswer(t *testing.T) {
	for _, test := range []struct {
		name, wire   string
		size, status int
		closes       bool
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 41, 200, false},
		{"another case", "HTTP/1.1 200 OK\r\nA: b\r\ncontent-length: 3\r\n\r\nabcd", 47, 200, false},
		{"close", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nconnection: close\r\n\r\n", 66, 400, true},
		{"to the end", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nwhy", 47, 400, true},
		{"no body", "HTTP/1.1 204 No Content\r\n\r\n", 27, 204, false},
		{"cut in the head", "HTTP/1.1 200 OK\r\nContent-Le", 0, 0, false},
		{"cut in the body", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", 0, 200, false},
		{"nothing", "", 0, 0, false},
	} {
		a, err := parseAnswer([]byte(test.wire))
		if err != nil || a.size != test.size || a.status != test.status || a.closes != test.closes {
			t.Errorf("%s: %+v, %v", test.name, a, err)
		}
	}
	for _, wire := range []string{
		"SSH-2.0-OpenSSH_9.2\r\n\r\n",
		"HTTP/1.1 2x0 OK\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nContent-Length: 3x\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nX-Content-Length: 3\r\n\r\nabc",
		strings.Repeat("x", 65<<10),
	} {
		if a, err := parseAnswer([]byte(wire)); err == nil {
			t.Errorf("%.40q: %+v", wire, a)
		}
	}
}

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

// runFor runs a load until this many requests are done.
func runFor(t *testing.T, p Plan, requests int) (r Result) {
	t.Helper()
	l, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); l.Run() }()
	for start := time.Now(); time.Since(start) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		if done, lost := l.now.Load().result(p.Kinds).Sum(); done+lost >= requests {
			break
		}
	}
	r = l.Take()
	l.Stop()
	<-ended
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

func TestImpossibleRates(t *testing.T) {
	for _, rate := range []float64{-1, math.NaN(), math.Inf(1), 1e10} {
		for _, p := range []Plan{{Rate: rate}, {Churn: rate}} {
			p.Address, p.Kinds = "127.0.0.1:1", []Kind{{Octets: Get("/")}}
			if _, err := New(p); err == nil {
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
	l, err := New(Plan{Address: ln.Addr().String(), Conns: 3, Kinds: []Kind{{Name: "get", Octets: Get("/")}}})
	if err != nil {
		t.Fatal(err)
	}
	go l.Run()
	defer l.Stop()
	var r Result
	for start := time.Now(); time.Since(start) < 20*time.Second && len(r.Errors) < 2; time.Sleep(5 * time.Millisecond) {
		r = l.now.Load().result(l.plan.Kinds)
	}
	if _, lost := r.Sum(); lost == 0 || len(r.Errors) < 2 {
		t.Errorf("%+v", r)
	}
}

// A connection that the server closes after a response without announcing it is not used again.
func TestEndBehindAnAnswer(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for _, test := range []struct {
		name, wire string
		ends       bool
		what       outcome
		err        error
	}{
		{"an end", ok, true, ended, nil},
		{"none", ok, false, answered, nil},
		{"an end that is said", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", true, ended, nil},
		{"more", ok + "HTTP", true, nothing, errStays},
		{"half an answer", ok[:len(ok)-1], true, ended, errEarlyEnd},
	} {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Write(fds[1], []byte(test.wire)); err != nil {
			t.Fatal(err)
		}
		if test.ends {
			syscall.Shutdown(fds[1], syscall.SHUT_WR)
		}
		c := conn{fd: fds[0], waits: true}
		what, err := c.read(&Kind{}, make([]byte, 1<<10), true)
		if what != test.what || !errors.Is(err, test.err) {
			t.Errorf("%s: %v, %v", test.name, what, err)
		}
		syscall.Close(fds[0])
		syscall.Close(fds[1])
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
		l, err := New(plan)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); l.Run() }()
		time.Sleep(200 * time.Millisecond)
		l.Take()
		time.Sleep(300 * time.Millisecond)
		r := l.Take()
		l.Stop()
		<-ended
		done, _ := r.Sum()
		return float64(done) / r.Seconds
	}
	free := rate()
	plan.Rate = 3e6 // more than the server can handle, fewer than the load can generate
	if behind := rate(); behind < free/10 {
		t.Errorf("%.0f requests/s, and %.0f when millions are due", free, behind)
	}
}
