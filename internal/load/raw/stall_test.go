package raw

import (
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// stall is a server that responds at once, but stalls for a part of each period.
type stall struct {
	begin          time.Time
	period, length time.Duration
}

// delay returns how long a request waits that arrives now.
func (s *stall) delay(now time.Time) time.Duration {
	if at := now.Sub(s.begin) % s.period; at < s.length {
		return s.length - at
	}
	return 0
}

// truth returns the latency that a fraction q of the requests does not exceed, if requests arrive at a steady rate.
func (s *stall) truth(q float64) time.Duration {
	share := float64(s.length) / float64(s.period)
	return time.Duration(max(0, (q-1+share)/share) * float64(s.length))
}

// differs returns the first percentile that differs from the truth by more than 1 % and a tolerance.
func (s *stall) differs(h *result.Histogram, tolerance time.Duration) (q float64, got, want time.Duration, differs bool) {
	for _, q := range []float64{0.5, 0.75, 0.85, 0.9, 0.95, 0.99} {
		got, want := h.Quantile(q), s.truth(q)
		if bound := want/100 + tolerance; got < want-bound || got > want+bound {
			return q, got, want, true
		}
	}
	return 0, 0, 0, false
}

// virtual is a driver without sockets whose server stalls. It is for tests in virtual time.
type virtual struct {
	t       *thread
	server  *stall
	opening []*conn
	replies []virtualReply // in the order of their times
}

type virtualReply struct {
	at time.Time
	c  *conn
}

func (v *virtual) open(c *conn) error {
	v.opening = append(v.opening, c)
	return nil
}

func (v *virtual) write(c *conn, p []byte) (int, error) {
	now := time.Now()
	v.replies = append(v.replies, virtualReply{now.Add(v.server.delay(now) + 50*time.Microsecond), c})
	return len(p), nil
}

func (v *virtual) wait(d time.Duration) {
	if len(v.opening) > 0 {
		c := v.opening[0]
		v.opening = v.opening[1:]
		v.t.connected(c, 0, false)
		return
	}
	if len(v.replies) > 0 {
		d = min(d, time.Until(v.replies[0].at))
	}
	time.Sleep(d)
	if len(v.replies) > 0 && time.Until(v.replies[0].at) <= 0 {
		c := v.replies[0].c
		v.replies = v.replies[1:]
		c.input([]byte(fine))
		v.t.goOn(perEvent)
	}
}

func (v *virtual) sleep(d time.Duration) { time.Sleep(d) }
func (v *virtual) close(*conn)           {}
func (v *virtual) shut(*conn) error      { return nil }
func (v *virtual) reset(*conn)           {}
func (v *virtual) stop()                 {}

// TestConnectsTooSlowly has a server that accepts no connection.
func TestConnectsTooSlowly(t *testing.T) {
	for _, test := range []struct {
		name    string
		conns   int
		timeout time.Duration
		opened  int
	}{{"own connections", 0, time.Second, 20}, {"shared connections", 1, time.Second, 20}, {"timeout of dialing", 0, time.Hour, 2}} {
		synctest.Test(t, func(t *testing.T) {
			opened := 0
			tr := transport{driver: func(t *thread) (driver, error) { return &blackHole{virtual{t: t}, &opened}, nil }}
			o := &engine.Options{Address: "127.0.0.1:1", Scheme: "http", Conns: test.conns, Timeout: test.timeout, DialTimeout: 10 * time.Second}
			sum := tr.load(t, t.Context(), o, scenario1(get("/"), script.Load{Duration: 20*time.Second - 100*time.Millisecond, Grace: time.Second}))
			if s := sum.series[0]; opened != test.opened || s.Failed != int64(test.opened) && s.Failed+s.Aborted != int64(test.opened) || sum.kinds()["timeout"] != s.Failed {
				t.Errorf("%s: %d attempts to connect, %d failed, %d aborted, %v", test.name, opened, s.Failed, s.Aborted, s.Errors)
			}
		})
	}
}

// blackHole is a driver that never connects.
type blackHole struct {
	virtual
	opened *int
}

func (b *blackHole) open(*conn) error {
	*b.opened++
	return nil
}

// TestStallingServer compares the percentiles of an open loop with the truth, in virtual time. They differ by less
// than 1 % and 2.5 ms, because requests are 2 ms apart.
// It does not matter whether each request is sent when it is due, or waits for one of ten connections. The service time of the
// latter looks good nevertheless.
func TestStallingServer(t *testing.T) {
	for _, conns := range []int{0, 10} {
		for _, server := range []*stall{{period: time.Second, length: 200 * time.Millisecond}, {period: 5 * time.Second, length: time.Second}} {
			synctest.Test(t, func(t *testing.T) {
				server.begin = time.Now()
				tr := transport{driver: func(t *thread) (driver, error) { return &virtual{t: t, server: server}, nil }}
				l := script.Load{Executor: script.ConstantArrivalRate, Rate: 500, Duration: 20 * time.Second, Grace: 5 * time.Second}
				o := &engine.Options{Address: "127.0.0.1:1", Scheme: "http", Conns: conns}
				sum := tr.load(t, t.Context(), o, scenario1(get("/"), l))
				s := sum.series[0]
				if q, got, want, differs := server.differs(&s.Response, 2500*time.Microsecond); differs || s.Done != 10_000 {
					t.Errorf("%d connections: %d done, quantile %v is %v, not %v", conns, s.Done, q, got, want)
				}
				p95 := s.Service.Quantile(0.95)
				if conns == 0 && p95 < server.truth(0.95)*9/10 || conns == 10 && p95 > time.Millisecond {
					t.Errorf("%d connections: the service time has the p95 %v", conns, p95)
				}
				if sum.lag.Max() > time.Millisecond {
					t.Errorf("a lag of %v in virtual time", sum.lag.Max())
				}
			})
		}
	}
}

// TestStallingServerOnSockets is the same with real servers: 200 ms in each second or, with GALLOP_LONG=1, 1 s in 5 s for 20 s. The
// tolerance is 1 % and 4 ms. There is no verdict if the machine is so busy that the generator or the server wakes up late.
func TestStallingServerOnSockets(t *testing.T) {
	server := stall{period: time.Second, length: 200 * time.Millisecond}
	duration := time.Second
	if os.Getenv("GALLOP_LONG") != "" {
		server = stall{period: 5 * time.Second, length: time.Second}
		duration = 20 * time.Second
	}
	inTurn(t, transports, func(t *testing.T, tr transport) {
		for range 3 {
			server.begin = time.Now()
			var late atomic.Int64
			o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
				now := time.Now()
				delay := server.delay(now)
				time.Sleep(delay)
				late.Store(max(late.Load(), int64(time.Since(now)-delay)))
				ok(w, r)
			})
			o.Conns, o.Streams = 10, 1
			l := script.Load{Executor: script.ConstantArrivalRate, Rate: 500, Duration: duration, Grace: time.Minute}
			sum := tr.load(t, t.Context(), o, scenario1(get("/"), l))
			s := sum.series[0]
			q, got, want, differs := server.differs(&s.Response, 4*time.Millisecond)
			if !differs && s.Due == int64(500*duration.Seconds()) {
				return
			}
			if s.Due == int64(500*duration.Seconds()) && (sum.lag.Quantile(0.99) > time.Millisecond || late.Load() > int64(time.Millisecond)) {
				t.Logf("busy: lag %v, the server wakes up late by %v", sum.lag.Quantile(0.99), time.Duration(late.Load()))
				continue
			}
			t.Fatalf("%d due, %d done, quantile %v is %v, not %v", s.Due, s.Done, q, got, want)
		}
		t.Skip("the machine is too busy for a verdict")
	})
}

// asleep is a driver whose first wait takes a second, as if the machine had no time for the thread.
type asleep struct {
	virtual
	slept bool
}

func (a *asleep) wait(d time.Duration) {
	if !a.slept {
		a.slept = true
		time.Sleep(time.Second)
	}
	a.virtual.wait(d)
}

// TestSleepsThroughAScenario shows that a thread that wakes up after the end of a scenario still sends all of its requests.
func TestSleepsThroughAScenario(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &stall{begin: time.Now(), period: time.Second}
		tr := transport{driver: func(t *thread) (driver, error) { return &asleep{virtual: virtual{t: t, server: server}}, nil }}
		l := script.Load{Executor: script.ConstantArrivalRate, Rate: 100, Duration: 200 * time.Millisecond, StartTime: 200 * time.Millisecond, Grace: time.Minute}
		sum := tr.load(t, t.Context(), &engine.Options{Address: "127.0.0.1:1", Scheme: "http"}, scenario1(get("/"), l))
		if s := sum.series[0]; s.Due != 20 || s.Done != 20 || sum.lag.Max() < 500*time.Millisecond {
			t.Errorf("%d due, %d done, lag %v", s.Due, s.Done, sum.lag.Max())
		}
	})
}
