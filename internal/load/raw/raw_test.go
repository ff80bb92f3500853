package raw

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/script"
	"github.com/gallop-http/gallop/internal/wiretest"
)

var quiet = log.New(io.Discard, "", 0)

func TestSharedIterations(t *testing.T) {
	onAll(t, func(t *testing.T, tr transport) {
		var served atomic.Int64
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) { served.Add(1); ok(w, r) })
		o.Threads = 2
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(1000, 16)))
		s := sum.series[0]
		if s.Done != 1000 || served.Load() != 1000 || sum.users[0].Iterations != 1000 || s.Status[200] != 1000 || s.BodyIn != 2000 {
			t.Errorf("%d done, %d served, %+v", s.Done, served.Load(), s)
		}
		if tr.http2 && sum.opened != 2 || !tr.http2 && sum.opened > 16 {
			t.Errorf("%d connections", sum.opened)
		}
	})
}

func TestPerVUIterations(t *testing.T) {
	onAll(t, func(t *testing.T, tr transport) {
		var mu sync.Mutex
		begun := map[int]int{}
		s := get("/")
		s.begin = func(user int) { mu.Lock(); begun[user]++; mu.Unlock() }
		l := script.Load{Executor: script.PerVUIterations, Iterations: 7, VUs: 5, Duration: 30 * time.Second}
		o := tr.serve(t, ok)
		o.Threads = 3
		sum := tr.load(t, t.Context(), o, scenario1(s, l))
		if sum.series[0].Done != 35 || len(begun) != 5 {
			t.Errorf("%d requests by users %v", sum.series[0].Done, begun)
		}
		for user, n := range begun {
			if user < 1 || user > 5 || n != 7 {
				t.Errorf("user %d ran %d iterations", user, n)
			}
		}
	})
}

// slow returns a handler that takes d, and notes in most how many requests it serves at a time.
func slow(d time.Duration, most *atomic.Int64) http.HandlerFunc {
	var at atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		n := at.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(d)
		at.Add(-1)
		ok(w, r)
	}
}

func TestConstantVUs(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		var most atomic.Int64
		o := tr.serve(t, slow(10*time.Millisecond, &most))
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), script.Load{VUs: 4, Duration: 300 * time.Millisecond, Grace: time.Minute}))
		if n := sum.series[0].Done; n > 4*30+4 || n < 8 || most.Load() != 4 {
			t.Errorf("%d requests, %d at a time", n, most.Load())
		}
		if sum.series[0].Aborted != 0 || sum.users[0].Interrupted != 0 || sum.took > 10*time.Second {
			t.Errorf("after %v: %+v", sum.took, sum.series[0])
		}
	})
}

func TestRampingVUs(t *testing.T) {
	t.Parallel()
	onHTTP1(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Millisecond); ok(w, r) })
		var mu sync.Mutex
		last := map[int]time.Duration{}
		s := get("/")
		begin := time.Now()
		s.begin = func(user int) { mu.Lock(); last[user] = time.Since(begin); mu.Unlock() }
		const ms = time.Millisecond
		l := script.Load{Executor: script.RampingVUs, Stages: []script.Stage{{Duration: 400 * ms, Target: 8}, {Duration: 400 * ms, Target: 8}, {Duration: 400 * ms, Target: 0}}, Grace: time.Minute}
		sum := tr.load(t, t.Context(), o, scenario1(s, l))
		if len(last) != 8 || sum.users[0].Active != 0 {
			t.Fatalf("%d users, %d at the end", len(last), sum.users[0].Active)
		}
		// User k leaves when the line has come down to k - 1. A busy machine may start users late, but never lets them stay.
		for user, at := range last {
			if end := 800*ms + time.Duration(9-user)*50*ms; at > end+30*ms+sum.lag.Max() {
				t.Errorf("user %d started an iteration at %v, but should have stopped at %v", user, at, end)
			}
		}
	})
}

func TestConstantArrivalRate(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		rate := 1000.0
		if tr.tls { // handshakes are expensive
			rate = 200
		}
		for _, poisson := range []bool{false, true} {
			o := tr.serve(t, ok)
			o.Threads = 2
			l := script.Load{Executor: script.ConstantArrivalRate, Rate: rate, Duration: 500 * time.Millisecond, Poisson: poisson, Grace: time.Minute}
			sum := tr.load(t, t.Context(), o, scenario1(get("/"), l))
			if n := sum.series[0].Done; n != int64(rate/2) && !poisson || math.Abs(float64(n)-rate/2) > 5*math.Sqrt(rate/2) {
				t.Errorf("Poisson %v: %d requests instead of %v", poisson, n, rate/2)
			}
			if sum.lag.Count() != sum.series[0].Done || sum.users[0].Dropped != 0 {
				t.Errorf("lag of %d requests, %d dropped", sum.lag.Count(), sum.users[0].Dropped)
			}
		}
	})
}

func TestRampingArrivalRate(t *testing.T) {
	t.Parallel()
	onHTTP1(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, ok)
		o.Grain = time.Millisecond
		l := script.Load{Executor: script.RampingArrivalRate, Stages: []script.Stage{{Duration: 400 * time.Millisecond, Target: 2000}, {Duration: 200 * time.Millisecond, Target: 2000}}, Grace: time.Minute}
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), l))
		if n := sum.series[0].Done; n != 800 {
			t.Errorf("%d requests instead of 800", n)
		}
	})
}

func TestMaxVUsDropsIterations(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) { time.Sleep(100 * time.Millisecond); ok(w, r) })
		l := script.Load{Executor: script.ConstantArrivalRate, Rate: 200, Duration: 500 * time.Millisecond, MaxVUs: 5, VUs: 2, Grace: time.Minute}
		s := get("/")
		sum := tr.load(t, t.Context(), o, scenario1(s, l))
		got := sum.series[0]
		if got.Due != 100 || got.Dropped != sum.users[0].Dropped || got.Done > 30 || got.Done < 5 || got.Done+got.Dropped != 100 || s.users.Load() > 5 {
			t.Errorf("%d due, %d done, %d dropped by %d users", got.Due, got.Done, got.Dropped, s.users.Load())
		}
	})
}

// TestSendsWhenDue uses a server that does not respond for a while. Requests are sent nevertheless, on further connections.
func TestSendsWhenDue(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		var at, most atomic.Int64
		release := make(chan struct{})
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			n := at.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			if n == 150 {
				close(release)
			}
			<-release
			ok(w, r)
		})
		o.Streams = 20
		l := script.Load{Executor: script.ConstantArrivalRate, Rate: 500, Duration: 400 * time.Millisecond, Grace: time.Minute}
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), l))
		if sum.series[0].Done != 200 || most.Load() < 150 {
			t.Errorf("%d done, %d at the server at a time", sum.series[0].Done, most.Load())
		}
	})
}

// TestConnsLimit shows that requests wait for a connection if their number is limited, and that this is no lag.
func TestConnsLimit(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		var most atomic.Int64
		o := tr.serve(t, slow(20*time.Millisecond, &most))
		o.Conns, o.Streams = 2, 1
		l := script.Load{Executor: script.ConstantArrivalRate, Rate: 200, Duration: 500 * time.Millisecond, Grace: time.Minute}
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), l))
		s := sum.series[0]
		if s.Due != 100 || s.Done > 60 || sum.opened != 2 || most.Load() > 2 {
			t.Errorf("%d due, %d done, %d dropped on %d connections, %d at a time", s.Due, s.Done, s.Dropped, sum.opened, most.Load())
		}
		if s.Response.Max() < 100*time.Millisecond || s.Service.Quantile(0.5) > s.Response.Max()/2 {
			t.Errorf("response %v, service %v", s.Response.Max(), s.Service.Quantile(0.5))
		}
		if sum.lag.Count() > 10 {
			t.Errorf("%d requests have a lag", sum.lag.Count())
		}
		sum = tr.load(t, t.Context(), o, scenario1(get("/"), iterations(20, 10)))
		if s := sum.series[0]; s.Done != 20 || s.Phases.Blocked.Max() < 20*time.Millisecond {
			t.Errorf("%d done, blocked for %v", s.Done, s.Phases.Blocked.Max())
		}
	})
}

func TestSeveralRequestsWithPauses(t *testing.T) {
	onAll(t, func(t *testing.T, tr transport) {
		var mu sync.Mutex
		var paths []string
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			paths = append(paths, r.Method+" "+r.URL.Path+" "+r.Header.Get("X-A")+" "+r.Host+" "+string(body))
			mu.Unlock()
			w.Header().Set("X-Reply", r.URL.Path)
			if r.URL.Path == "/b" {
				w.WriteHeader(503)
			}
			fmt.Fprint(w, "hello, world")
		})
		s := &steps{names: []string{"a", "b", "c"}, requests: []*script.Request{
			{Kind: 0, Method: "GET", Path: "/a", Authority: "example.com", Header: []script.Field{{Name: "X-A", Value: "1"}}, KeepHead: true, KeepBody: 5},
			{Kind: 1, Method: "POST", Path: "/b", Authority: "example.com", Body: []byte("text"), Pause: 20 * time.Millisecond, KeepBody: -1},
			{Kind: 2, Method: "HEAD", Path: "/c", Authority: "example.com"},
		}}
		var got []string
		s.done = func(_ int, r *script.Response) {
			reply := ""
			for _, f := range r.Header {
				if strings.EqualFold(f.Name, "x-reply") {
					reply = f.Value
				}
			}
			got = append(got, fmt.Sprint(r.Status, " ", reply, " ", string(r.Body), " ", r.Size, " ", r.Err))
		}
		sum := tr.load(t, t.Context(), o, scenario1(s, iterations(2, 1)))
		mu.Lock()
		defer mu.Unlock()
		want := []string{"GET /a 1 example.com ", "POST /b  example.com text", "HEAD /c  example.com "}
		if fmt.Sprint(paths) != fmt.Sprint(append(want, want...)) {
			t.Errorf("requests %q", paths)
		}
		want = []string{"200 /a hello 12 <nil>", "503  hello, world 12 <nil>", "200   0 <nil>"}
		if fmt.Sprint(got) != fmt.Sprint(append(want, want...)) {
			t.Errorf("responses %q", got)
		}
		if sum.series[1].Unexpected != 2 || sum.series[1].UnexpectedResponse.Count() != 2 || sum.series[0].Unexpected != 0 || sum.users[0].Iterations != 2 {
			t.Errorf("%+v", sum.series[1])
		}
		if sum.took < 40*time.Millisecond || sum.users[0].Length.Min() < 20*time.Millisecond || sum.series[1].Response.Min() > sum.users[0].Length.Max()-20*time.Millisecond {
			t.Errorf("run of %v, iterations of %v", sum.took, sum.users[0].Length.Min())
		}
	})
}

// TestStateless runs requests of one user side by side. Each response must belong to its request.
func TestStateless(t *testing.T) {
	onAll(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
		o.Conns, o.Streams = 2, 16
		var seen sync.Map
		s := &simple{make: func(n int, r *script.Request) { r.Path, r.KeepBody = fmt.Sprint("/", n), -1 }}
		s.done = func(r *script.Response) {
			if _, twice := seen.LoadOrStore(string(r.Body), true); twice {
				t.Errorf("two responses for %s", r.Body)
			}
		}
		sum := tr.load(t, t.Context(), o, scenario1(s, iterations(500, 32)))
		if sum.series[0].Done != 500 || sum.opened != 2 {
			t.Errorf("%d done on %d connections", sum.series[0].Done, sum.opened)
		}
		for n := range 500 {
			if _, ok := seen.Load(fmt.Sprint("/", n)); !ok {
				t.Errorf("no response for request %d", n)
			}
		}
	})
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(w, r.Body)
			if n != 3<<20 {
				t.Errorf("a body of %d bytes", n)
			}
		})
		s := &steps{names: []string{"large"}, requests: []*script.Request{{Method: "PUT", Path: "/", Body: make([]byte, 3<<20)}}}
		sum := tr.load(t, t.Context(), o, scenario1(s, iterations(6, 2)))
		if got := sum.series[0]; got.Done != 6 || got.BodyIn != 6*3<<20 || got.BytesIn <= got.BodyIn || got.BytesOut <= 6*3<<20 {
			t.Errorf("%d done, %d failed %v, %d bytes out, %d in", got.Done, got.Failed, got.Errors, got.BytesOut, got.BytesIn)
		}
	})
}

func TestPerConn(t *testing.T) {
	onAll(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, ok)
		o.PerConn = 10
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(200, 1)))
		if sum.series[0].Done != 200 || sum.opened != 20 {
			t.Errorf("%d done on %d connections", sum.series[0].Done, sum.opened)
		}
		if n := sum.series[0].Phases.Connect.Count(); n != 20 {
			t.Errorf("%d requests have opened a connection", n)
		}
	})
}

func TestHold(t *testing.T) {
	onAll(t, func(t *testing.T, tr transport) {
		var conns atomic.Int64
		o := listenHTTP(t, tr, &conns)
		o.Hold, o.Threads = 60, 2
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(10, 2)))
		for end := time.Now().Add(5 * time.Second); conns.Load() < sum.opened && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if sum.series[0].Done != 10 || conns.Load() != sum.opened || sum.opened < 61 || sum.opened > 62 {
			t.Errorf("%d done, %d connections, the server has seen %d", sum.series[0].Done, sum.opened, conns.Load())
		}
	})
}

func listenHTTP(t *testing.T, tr transport, conns *atomic.Int64) *engine.Options {
	o := tr.serve(t, ok)
	// A proxy in front of the server counts connections.
	return tr.front(t, o, func(c net.Conn, back net.Conn) {
		conns.Add(1)
		go func() { io.Copy(back, c); back.Close() }()
		io.Copy(c, back)
	})
}

// front puts a proxy in front of a server.
func (tr transport) front(t *testing.T, o *engine.Options, serve func(c, back net.Conn)) *engine.Options {
	front := listen(t, func(c net.Conn) {
		if back, err := net.Dial("tcp", o.Address); err == nil {
			defer back.Close()
			serve(c, back)
		}
	})
	to := *o
	to.Address = front.Address
	return &to
}

func TestUnixSocket(t *testing.T) {
	onHTTP1(t, func(t *testing.T, tr transport) {
		path := filepath.Join(t.TempDir(), "socket")
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(ok), ErrorLog: quiet}
		go s.Serve(ln)
		defer s.Close()
		o := &engine.Options{Network: "unix", Address: path, Scheme: "http"}
		if sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(100, 4))); sum.series[0].Done != 100 {
			t.Errorf("%+v", sum.series[0])
		}
		o.Address += "x"
		if sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(3, 1))); sum.kinds()["refused"] != 3 {
			t.Errorf("%v", sum.kinds())
		}
	})
}

func TestLocalAddresses(t *testing.T) {
	onHTTP1(t, func(t *testing.T, tr transport) {
		var from sync.Map
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			host, _, _ := net.SplitHostPort(r.RemoteAddr)
			from.Store(host, true)
			ok(w, r)
		})
		o.Local, o.PerConn = []string{"127.0.0.2", "127.0.0.3"}, 1
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(10, 1)))
		for _, addr := range o.Local {
			if _, ok := from.Load(addr); !ok || sum.series[0].Done != 10 {
				t.Errorf("no connection from %s, %v", addr, sum.kinds())
			}
		}
		o.Local = []string{"192.0.2.1"} // not an address of this machine
		if sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(3, 1))); sum.kinds()["local"] != 3 {
			t.Errorf("%v", sum.kinds())
		}
	})
}

func TestScenariosSideBySide(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		var first atomic.Int64
		begin := time.Now()
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/late" {
				first.CompareAndSwap(0, int64(time.Since(begin)))
			}
			ok(w, r)
		})
		late := script.Load{Executor: script.ConstantArrivalRate, Rate: 100, Duration: 200 * time.Millisecond, StartTime: 200 * time.Millisecond, Grace: time.Minute}
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), script.Load{VUs: 2, Duration: 100 * time.Millisecond, Grace: time.Minute}), engine.Scenario{Name: "late", Load: late, Script: get("/late")})
		if sum.series[0].Done == 0 || sum.series[1].Done != 20 || first.Load() < int64(200*time.Millisecond) {
			t.Errorf("%d and %d done, the late scenario began after %v", sum.series[0].Done, sum.series[1].Done, time.Duration(first.Load()))
		}
	})
}

func TestGraceAbortsRequests(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
			}
		})
		var sum *total
		for duration := range wiretest.LongerLimits(50 * time.Millisecond) { // until the machine sends all requests in time
			sum = tr.load(t, t.Context(), o, scenario1(get("/"), script.Load{VUs: 3, Duration: duration, Grace: 50 * time.Millisecond}))
			if sum.series[0].Sent == 3 {
				break
			}
		}
		if sum.series[0].Aborted != 3 || sum.users[0].Interrupted != 3 || sum.users[0].Active != 0 || sum.took > 50*time.Second {
			t.Errorf("after %v: %+v", sum.took, sum.series[0])
		}
	})
}

func TestContextEndsTheRun(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		for _, l := range []script.Load{{VUs: 3, Duration: time.Hour}, {Executor: script.ConstantArrivalRate, Rate: 100, Duration: time.Hour}} {
			l.Grace = time.Minute
			var sum *total
			for limit := range wiretest.LongerLimits(200 * time.Millisecond) { // until the machine has connected within the limit
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				sum = tr.load(t, ctx, tr.serve(t, ok), scenario1(get("/"), l), engine.Scenario{Name: "never", Load: script.Load{StartTime: time.Hour, Duration: time.Hour}, Script: get("/")})
				cancel()
				if sum.series[0].Done > 0 {
					break
				}
			}
			if sum.took > time.Minute || sum.series[0].Done == 0 || sum.series[0].Aborted > 0 || sum.series[1].Sent > 0 {
				t.Errorf("after %v: %+v", sum.took, sum.series[0])
			}
		}
	})
}

// TestControl pauses a run for 400 ms in virtual time.
func TestControl(t *testing.T) {
	for _, l := range []script.Load{{VUs: 2}, {Executor: script.ConstantArrivalRate, Rate: 500}} {
		synctest.Test(t, func(t *testing.T) {
			server := &stall{begin: time.Now(), period: time.Second}
			tr := transport{driver: func(t *thread) (driver, error) { return &virtual{t: t, server: server}, nil }}
			o := &engine.Options{Address: "127.0.0.1:1", Scheme: "http", Control: &engine.Control{}}
			s := get("/")
			late := 0
			s.begin = func(int) {
				if at := time.Since(server.begin); at > 100*time.Millisecond+glance && at < 500*time.Millisecond {
					late++
				}
			}
			go func() {
				time.Sleep(100 * time.Millisecond)
				o.Control.Pause(true)
				time.Sleep(400 * time.Millisecond)
				o.Control.Pause(false)
			}()
			l.Duration, l.Grace = 600*time.Millisecond, time.Minute
			sum := tr.load(t, t.Context(), o, scenario1(s, l))
			if done := sum.series[0].Done; late > 0 || done < 95 || l.Rate > 0 && done > 106 {
				t.Errorf("%v: %d requests in the pause, %d in total", l.Executor, late, done)
			}
		})
	}
}

// TestPausedRunEnds shows that users who wait for the end of a pause come to rest when the scenario ends.
func TestPausedRunEnds(t *testing.T) {
	o := transports[0].serve(t, ok)
	o.Control = &engine.Control{}
	o.Control.Pause(true)
	sum := transports[0].load(t, t.Context(), o, scenario1(get("/"), script.Load{VUs: 2, Duration: 50 * time.Millisecond, Grace: 20 * time.Second}))
	if sum.took > 10*time.Second || sum.series[0].Sent > 0 || sum.users[0].Interrupted > 0 {
		t.Errorf("after %v: %d sent, %d interrupted", sum.took, sum.series[0].Sent, sum.users[0].Interrupted)
	}
}

func TestScaledRate(t *testing.T) {
	t.Parallel()
	onHTTP1(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, ok)
		o.Control = &engine.Control{}
		o.Control.Scale(3)
		l := script.Load{Executor: script.ConstantArrivalRate, Rate: 100, Duration: time.Second, Grace: time.Minute}
		if n := tr.load(t, t.Context(), o, scenario1(get("/"), l)).series[0].Done; n < 299 || n > 300 {
			t.Errorf("%d requests at 3 times the rate 100", n)
		}
	})
}

func TestPeriodsArriveEachSecond(t *testing.T) {
	t.Parallel()
	onHTTP1(t, func(t *testing.T, tr transport) {
		sum := tr.load(t, t.Context(), tr.serve(t, ok), scenario1(get("/"), script.Load{Executor: script.ConstantArrivalRate, Rate: 50, Duration: 2100 * time.Millisecond, Grace: time.Minute}))
		if sum.periods != 3 || sum.series[0].Done != 105 {
			t.Errorf("%d periods, %d requests", sum.periods, sum.series[0].Done)
		}
	})
}
