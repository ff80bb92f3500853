package gallop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// upstream counts what it is asked, takes its time, and fails if it is told to.
type upstream struct {
	name    string
	calls   atomic.Int64
	pending atomic.Int64
	takes   time.Duration
	broken  atomic.Bool
	until   atomic.Int64 // the last deadline, in Unix nanoseconds
}

var errBroken = errors.New("broken")

func (u *upstream) DoDeadline(_ *Request, _ *Response, deadline time.Time) error {
	u.calls.Add(1)
	u.pending.Add(1)
	defer u.pending.Add(-1)
	u.until.Store(deadline.UnixNano())
	if u.broken.Load() {
		return errBroken
	}
	time.Sleep(u.takes)
	return nil
}

func (u *upstream) PendingRequests() int { return int(u.pending.Load()) }

func upstreams(n int) (list []*upstream, clients []BalancingClient) {
	for i := range n {
		u := &upstream{name: fmt.Sprint(i)}
		list, clients = append(list, u), append(clients, u)
	}
	return list, clients
}

func calls(list []*upstream) (n []int64) {
	for _, u := range list {
		n = append(n, u.calls.Load())
	}
	return n
}

func TestLBTakesTurns(t *testing.T) {
	weights := func(c BalancingClient) int { return map[string]int{"0": 5, "1": 1, "2": 0}[c.(*upstream).name] }
	for _, strategy := range []LBStrategy{LBLeastLoaded, LBRoundRobin} {
		for _, tc := range []struct {
			name   string
			weight func(BalancingClient) int
			want   string
		}{
			{"alike", nil, "[70 70 70]"},
			{"by weight", weights, "[150 30 30]"},
		} {
			t.Run(fmt.Sprint(strategy, tc.name), func(t *testing.T) {
				list, clients := upstreams(3)
				lb := LBClient{Clients: clients, Strategy: strategy, Weight: tc.weight}
				for range 210 {
					if err := lb.Do(nil, nil); err != nil {
						t.Fatal(err)
					}
				}
				if got := fmt.Sprint(calls(list)); got != tc.want {
					t.Errorf("calls %s, want %s", got, tc.want)
				}
			})
		}
	}
}

// Weights are mixed, not served in blocks.
func TestLBMixes(t *testing.T) {
	list, clients := upstreams(2)
	lb := LBClient{Clients: clients, Strategy: LBRoundRobin, Weight: func(c BalancingClient) int {
		return map[string]int{"0": 3, "1": 1}[c.(*upstream).name]
	}}
	order := ""
	for range 8 {
		before := list[0].calls.Load()
		lb.Do(nil, nil)
		order += map[bool]string{true: "0", false: "1"}[list[0].calls.Load() > before]
	}
	if order != "00100010" {
		t.Errorf("order %s", order)
	}
}

// A slow client gets fewer calls, so that each client's share of the work follows its weight.
func TestLBLeastLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list, clients := upstreams(3)
		list[0].takes, list[1].takes, list[2].takes = time.Second, time.Second, 10*time.Second
		lb := LBClient{Clients: clients, Weight: func(c BalancingClient) int {
			return map[string]int{"0": 2, "1": 1, "2": 1}[c.(*upstream).name]
		}}
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				for range 25 {
					lb.Do(nil, nil)
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		for i, want := range []int{20, 10, 10} {
			if got := list[i].PendingRequests(); got != want {
				t.Errorf("client %d has %d pending, want %d", i, got, want)
			}
		}
		if n := lb.PendingRequests(); n != 40 {
			t.Errorf("%d pending in all", n)
		}
		wg.Wait()
		if n := calls(list); n[2] > n[1]/3 || n[0] < n[1] {
			t.Errorf("calls %v", n)
		}
		if n := lb.PendingRequests(); n != 0 {
			t.Errorf("%d pending at the end", n)
		}
	})
}

func TestLBEjectsAndTakesBack(t *testing.T) {
	for _, strategy := range []LBStrategy{LBLeastLoaded, LBRoundRobin} {
		t.Run(fmt.Sprint(strategy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list, clients := upstreams(3)
				lb := LBClient{Clients: clients, Strategy: strategy}
				share := func() int64 { // of 300 requests in 3 seconds
					before := list[0].calls.Load()
					for range 300 {
						time.Sleep(10 * time.Millisecond)
						lb.Do(nil, nil)
					}
					return list[0].calls.Load() - before
				}
				if n := share(); n != 100 {
					t.Errorf("%d of 300 while all is well", n)
				}
				list[0].broken.Store(true)
				if n := share(); n > 20 {
					t.Errorf("%d of 300 while it is broken", n)
				}
				if n := share(); n > 10 {
					t.Errorf("%d of 300 while it is still broken", n)
				}
				list[0].broken.Store(false)
				if n := share(); n > 70 {
					t.Errorf("%d of 300 at once", n)
				}
				share()
				share()
				if n := share(); n < 99 {
					t.Errorf("%d of 300 when all is forgotten", n)
				}
			})
		})
	}
}

// With all broken nothing changes but the errors.
func TestLBAllBroken(t *testing.T) {
	for _, strategy := range []LBStrategy{LBLeastLoaded, LBRoundRobin} {
		synctest.Test(t, func(t *testing.T) {
			list, clients := upstreams(3)
			lb := LBClient{Clients: clients, Strategy: strategy}
			for _, u := range list {
				u.broken.Store(true)
			}
			for range 300 {
				if err := lb.Do(nil, nil); err != errBroken {
					t.Fatal(err)
				}
			}
			for i, n := range calls(list) {
				if n < 70 || n > 130 {
					t.Errorf("strategy %d: client %d has %d calls", strategy, i, n)
				}
			}
		})
	}
}

func TestLBHealthCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list, clients := upstreams(2)
		lb := LBClient{Clients: clients, HealthCheck: func(_ *Request, resp *Response, err error) bool {
			return resp.StatusCode() < 500
		}}
		resp := new(Response)
		list[0].broken.Store(true) // an error that counts for nothing
		for range 10 {
			lb.Do(nil, resp)
		}
		if n := calls(list); n[0] != 5 {
			t.Errorf("calls %v", n)
		}
		resp.SetStatusCode(503)
		lb.Do(nil, resp) // the first one's
		resp.SetStatusCode(200)
		for range 10 {
			lb.Do(nil, resp)
		}
		if n := calls(list); n[0] != 6 {
			t.Errorf("calls %v", n)
		}
	})
}

func TestLBTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list, clients := upstreams(1)
		ctx, cancel := context.WithTimeout(context.Background(), 9*time.Second)
		defer cancel()
		lb := LBClient{Clients: clients}
		for _, tc := range []struct {
			name string
			do   func() error
			want time.Duration
		}{
			{"by default", func() error { return lb.Do(nil, nil) }, DefaultLBClientTimeout},
			{"of a call", func() error { return lb.DoTimeout(nil, nil, 7*time.Second) }, 7 * time.Second},
			{"until", func() error { return lb.DoDeadline(nil, nil, time.Now().Add(8*time.Second)) }, 8 * time.Second},
			{"of a context", func() error { return lb.DoContext(ctx, nil, nil) }, 9 * time.Second},
			{"of a context without", func() error { return lb.DoContext(context.Background(), nil, nil) }, DefaultLBClientTimeout},
		} {
			err := tc.do()
			if left := time.Until(time.Unix(0, list[0].until.Load())); err != nil || left != tc.want {
				t.Errorf("%s: %v, error %v", tc.name, left, err)
			}
		}
	})
}

type contextUpstream struct{ upstream }

func (u *contextUpstream) DoContext(ctx context.Context, _ *Request, _ *Response) error {
	u.calls.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

// A call that the caller cancels does not count as a failure of the client. A call that takes too long does.
func TestLBContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, other := new(contextUpstream), new(upstream)
		lb := LBClient{Clients: []BalancingClient{u, other}, Strategy: LBRoundRobin}
		ctx, cancel := context.WithCancel(context.Background())
		go func() { time.Sleep(time.Second); cancel() }()
		if err := lb.DoContext(ctx, nil, nil); err != context.Canceled || u.calls.Load() != 1 {
			t.Errorf("error %v", err)
		}
		if err := lb.DoContext(ctx, nil, nil); !errors.Is(err, context.Canceled) || u.calls.Load()+other.calls.Load() != 1 {
			t.Errorf("a call after it was cancelled: error %v", err)
		}
		if p := lb.all()[0].penalty(); p != 0 {
			t.Errorf("penalty %v for what was cancelled", p)
		}
		lb.Do(nil, nil)
		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := lb.DoContext(ctx, nil, nil); err != context.DeadlineExceeded {
			t.Errorf("error %v", err)
		}
		if p := lb.all()[0].penalty(); p != lbPenalty {
			t.Errorf("penalty %v for what took too long", p)
		}
	})
}

func TestLBClients(t *testing.T) {
	var lb LBClient
	if err := lb.Do(nil, nil); err != ErrNoAvailableClients {
		t.Errorf("without clients: %v", err)
	}
	if err := lb.DoContext(context.Background(), nil, nil); err != ErrNoAvailableClients {
		t.Errorf("without clients: %v", err)
	}
	list, clients := upstreams(3)
	for i, c := range clients {
		if n := lb.AddClient(c); n != i+1 {
			t.Errorf("%d clients", n)
		}
	}
	if n := lb.RemoveClients(func(c BalancingClient) bool { return c == clients[1] }); n != 2 {
		t.Errorf("%d clients", n)
	}
	for range 10 {
		lb.Do(nil, nil)
	}
	if n := fmt.Sprint(calls(list)); n != "[5 0 5]" {
		t.Errorf("calls %s", n)
	}
	if n := lb.RemoveClients(func(BalancingClient) bool { return true }); n != 0 || lb.Do(nil, nil) != ErrNoAvailableClients {
		t.Errorf("%d clients", n)
	}
}

func TestLBIsUsedByMany(t *testing.T) {
	list, clients := upstreams(4)
	list[3].broken.Store(true)
	lb := LBClient{Clients: clients}
	extra := new(upstream)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				lb.DoTimeout(nil, nil, time.Second)
				if g == 0 && i%10 == 0 {
					lb.AddClient(extra)
				}
				if g == 1 && i%10 == 0 {
					lb.RemoveClients(func(c BalancingClient) bool { return c == extra })
				}
			}
		})
	}
	wg.Wait()
	sum := extra.calls.Load()
	for _, n := range calls(list) {
		sum += n
	}
	if sum != 8*500 || lb.PendingRequests() != 0 {
		t.Errorf("%d calls, %d pending", sum, lb.PendingRequests())
	}
}

func BenchmarkLBClient(b *testing.B) {
	_, clients := upstreams(8)
	lb := LBClient{Clients: clients}
	b.ReportAllocs()
	for b.Loop() {
		lb.choose().running.Add(-1)
	}
}
