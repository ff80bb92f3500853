package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
)

// balanced counts what it is asked, takes its time, and fails if it is told to.
type balanced struct {
	name    string
	calls   atomic.Int64
	pending atomic.Int64
	takes   time.Duration
	broken  atomic.Bool
	until   atomic.Int64 // the last deadline, in Unix nanoseconds
}

var errBroken = errors.New("broken")

func (u *balanced) DoDeadline(_ *gallop.Request, _ *gallop.Response, deadline time.Time) error {
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

func (u *balanced) PendingRequests() int { return int(u.pending.Load()) }

func balancedClients(n int) (list []*balanced, clients []gallop.BalancingClient) {
	for i := range n {
		u := &balanced{name: fmt.Sprint(i)}
		list, clients = append(list, u), append(clients, u)
	}
	return list, clients
}

func calls(list []*balanced) (n []int64) {
	for _, u := range list {
		n = append(n, u.calls.Load())
	}
	return n
}

func TestLBTakesTurns(t *testing.T) {
	weights := func(c gallop.BalancingClient) int { return map[string]int{"0": 5, "1": 1, "2": 0}[c.(*balanced).name] }
	for _, strategy := range []gallop.LBStrategy{gallop.LBLeastLoaded, gallop.LBRoundRobin} {
		for _, tc := range []struct {
			name   string
			weight func(gallop.BalancingClient) int
			want   string
		}{
			{"alike", nil, "[70 70 70]"},
			{"by weight", weights, "[150 30 30]"},
		} {
			t.Run(fmt.Sprint(strategy, tc.name), func(t *testing.T) {
				list, clients := balancedClients(3)
				lb := gallop.LBClient{Clients: clients, Strategy: strategy, Weight: tc.weight}
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
	list, clients := balancedClients(2)
	lb := gallop.LBClient{Clients: clients, Strategy: gallop.LBRoundRobin, Weight: func(c gallop.BalancingClient) int {
		return map[string]int{"0": 3, "1": 1}[c.(*balanced).name]
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
		list, clients := balancedClients(3)
		list[0].takes, list[1].takes, list[2].takes = time.Second, time.Second, 10*time.Second
		lb := gallop.LBClient{Clients: clients, Weight: func(c gallop.BalancingClient) int {
			return map[string]int{"0": 2, "1": 1, "2": 1}[c.(*balanced).name]
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
	for _, strategy := range []gallop.LBStrategy{gallop.LBLeastLoaded, gallop.LBRoundRobin} {
		t.Run(fmt.Sprint(strategy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list, clients := balancedClients(3)
				lb := gallop.LBClient{Clients: clients, Strategy: strategy}
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
	for _, strategy := range []gallop.LBStrategy{gallop.LBLeastLoaded, gallop.LBRoundRobin} {
		synctest.Test(t, func(t *testing.T) {
			list, clients := balancedClients(3)
			lb := gallop.LBClient{Clients: clients, Strategy: strategy}
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
		list, clients := balancedClients(2)
		lb := gallop.LBClient{Clients: clients, HealthCheck: func(_ *gallop.Request, resp *gallop.Response, err error) bool {
			return resp.StatusCode() < 500
		}}
		resp := new(gallop.Response)
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
		list, clients := balancedClients(1)
		ctx, cancel := context.WithTimeout(context.Background(), 9*time.Second)
		defer cancel()
		lb := gallop.LBClient{Clients: clients}
		for _, tc := range []struct {
			name string
			do   func() error
			want time.Duration
		}{
			{"by default", func() error { return lb.Do(nil, nil) }, gallop.DefaultLBClientTimeout},
			{"of a call", func() error { return lb.DoTimeout(nil, nil, 7*time.Second) }, 7 * time.Second},
			{"until", func() error { return lb.DoDeadline(nil, nil, time.Now().Add(8*time.Second)) }, 8 * time.Second},
			{"of a context", func() error { return lb.DoContext(ctx, nil, nil) }, 9 * time.Second},
			{"of a context without", func() error { return lb.DoContext(context.Background(), nil, nil) }, gallop.DefaultLBClientTimeout},
		} {
			err := tc.do()
			if left := time.Until(time.Unix(0, list[0].until.Load())); err != nil || left != tc.want {
				t.Errorf("%s: %v, error %v", tc.name, left, err)
			}
		}
	})
}

func TestLBClients(t *testing.T) {
	var lb gallop.LBClient
	if err := lb.Do(nil, nil); err != gallop.ErrNoAvailableClients {
		t.Errorf("without clients: %v", err)
	}
	if err := lb.DoContext(context.Background(), nil, nil); err != gallop.ErrNoAvailableClients {
		t.Errorf("without clients: %v", err)
	}
	list, clients := balancedClients(3)
	for i, c := range clients {
		if n := lb.AddClient(c); n != i+1 {
			t.Errorf("%d clients", n)
		}
	}
	if n := lb.RemoveClients(func(c gallop.BalancingClient) bool { return c == clients[1] }); n != 2 {
		t.Errorf("%d clients", n)
	}
	for range 10 {
		lb.Do(nil, nil)
	}
	if n := fmt.Sprint(calls(list)); n != "[5 0 5]" {
		t.Errorf("calls %s", n)
	}
	if n := lb.RemoveClients(func(gallop.BalancingClient) bool { return true }); n != 0 || lb.Do(nil, nil) != gallop.ErrNoAvailableClients {
		t.Errorf("%d clients", n)
	}
}

func TestLBIsUsedByMany(t *testing.T) {
	list, clients := balancedClients(4)
	list[3].broken.Store(true)
	lb := gallop.LBClient{Clients: clients}
	extra := new(balanced)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				lb.DoTimeout(nil, nil, time.Second)
				if g == 0 && i%10 == 0 {
					lb.AddClient(extra)
				}
				if g == 1 && i%10 == 0 {
					lb.RemoveClients(func(c gallop.BalancingClient) bool { return c == extra })
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

func TestLBWeightPanics(t *testing.T) {
	calls := 0
	list, clients := balancedClients(2)
	lb := gallop.LBClient{Clients: clients, Weight: func(gallop.BalancingClient) int {
		if calls++; calls == 2 {
			panic("weight")
		}
		return 1
	}}
	if recovered(func() { _ = lb.Do(nil, nil) }) != "weight" {
		t.Error("no panic")
	}
	if err := lb.Do(nil, nil); err != nil || list[0].calls.Load() != 1 {
		t.Errorf("afterwards: error %v", err)
	}
}

func recovered(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

// Clients come and go while calls run, down to none.
func TestLBChangesUnderWay(t *testing.T) {
	var lb gallop.LBClient
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				lb.AddClient(new(balanced))
				_ = lb.DoContext(context.Background(), nil, nil)
				lb.RemoveClients(func(gallop.BalancingClient) bool { return true })
				if err := lb.Do(nil, nil); err != nil && err != gallop.ErrNoAvailableClients {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if lb.PendingRequests() != 0 || lb.RemoveClients(func(gallop.BalancingClient) bool { return false }) != 0 {
		t.Error("something is left")
	}
}
