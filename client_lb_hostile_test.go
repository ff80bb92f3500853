package gallop

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"
)

// lbFunc is a client that does what its functions do.
type lbFunc struct {
	do      func(deadline time.Time) error
	pending func() int
}

func (f lbFunc) DoDeadline(_ *Request, _ *Response, deadline time.Time) error { return f.do(deadline) }

func (f lbFunc) PendingRequests() int {
	if f.pending == nil {
		return 0
	}
	return f.pending()
}

func recovered(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

// A client that panics is idle all the time, and must not get all requests because of that.
func TestLBPanics(t *testing.T) {
	panics := func() { panic("client") }
	for _, tc := range []struct {
		name string
		lb   func(bad BalancingClient) *LBClient
		do   func()
	}{
		{"Do", func(BalancingClient) *LBClient { return new(LBClient) }, panics},
		{"HealthCheck", func(BalancingClient) *LBClient {
			return &LBClient{HealthCheck: func(*Request, *Response, error) bool { panic("check") }}
		}, func() {}},
	} {
		for name, call := range map[string]func(*LBClient) error{
			"Do":        func(lb *LBClient) error { return lb.Do(nil, nil) },
			"DoContext": func(lb *LBClient) error { return lb.DoContext(t.Context(), nil, nil) },
		} {
			t.Run(tc.name+" in "+name, func(t *testing.T) {
				bad := lbFunc{do: func(time.Time) error { tc.do(); return nil }}
				lb := tc.lb(bad)
				lb.Clients = []BalancingClient{bad}
				if recovered(func() { _ = call(lb) }) == nil {
					t.Error("no panic")
				}
				if lb.PendingRequests() != 0 || lb.all()[0].penalty() < 1 {
					t.Errorf("%d pending, penalty %v", lb.PendingRequests(), lb.all()[0].penalty())
				}
			})
		}
	}
}

func TestLBWeightPanics(t *testing.T) {
	calls := 0
	list, clients := upstreams(2)
	lb := LBClient{Clients: clients, Weight: func(BalancingClient) int {
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

// A caller without time left is no failure of a client.
func TestLBPastDeadline(t *testing.T) {
	list, clients := upstreams(1)
	list[0].broken.Store(true)
	lb := LBClient{Clients: clients}
	for name, err := range map[string]error{
		"past":             lb.DoDeadline(nil, nil, time.Now().Add(-time.Hour)),
		"zero timeout":     lb.DoTimeout(nil, nil, 0),
		"negative timeout": lb.DoTimeout(nil, nil, -time.Second),
		"lowest timeout":   lb.DoTimeout(nil, nil, math.MinInt64),
	} {
		if err != ErrTimeout || list[0].calls.Load() != 0 || lb.all()[0].penalty() != 0 {
			t.Errorf("%s: error %v, %d calls, penalty %v", name, err, list[0].calls.Load(), lb.all()[0].penalty())
		}
	}
	if err := lb.DoDeadline(nil, nil, time.Time{}); err != errBroken {
		t.Errorf("zero time: %v", err)
	}
	if err := new(LBClient).DoTimeout(nil, nil, 0); err != ErrNoAvailableClients {
		t.Errorf("no clients: %v", err)
	}
}

func TestLBOddFigures(t *testing.T) {
	for name, weight := range map[string]int{"least": math.MinInt, "negative": -1, "zero": 0, "greatest": math.MaxInt} {
		for _, strategy := range []LBStrategy{LBLeastLoaded, LBRoundRobin, -1} {
			for _, pending := range []int{math.MinInt, -1, math.MaxInt} {
				served := 0
				c := lbFunc{func(time.Time) error { served++; return errBroken }, func() int { return pending }}
				lb := LBClient{
					Clients: []BalancingClient{c, c}, Strategy: strategy,
					Weight: func(BalancingClient) int { return weight },
				}
				for range 1000 {
					if err := lb.Do(nil, nil); err != errBroken {
						t.Fatalf("%s weight: %v", name, err)
					}
				}
				for _, m := range lb.all() {
					if p := m.penalty(); served != 1000 || p > maxLBPenalty || math.IsNaN(m.credit) {
						t.Errorf("%s weight: %d calls, penalty %v, credit %v", name, served, p, m.credit)
					}
				}
			}
		}
	}
}

// Clients come and go while calls run, down to none.
func TestLBChangesUnderWay(t *testing.T) {
	var lb LBClient
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				lb.AddClient(new(upstream))
				_ = lb.DoContext(context.Background(), nil, nil)
				lb.RemoveClients(func(BalancingClient) bool { return true })
				if err := lb.Do(nil, nil); err != nil && err != ErrNoAvailableClients {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if lb.PendingRequests() != 0 || lb.RemoveClients(func(BalancingClient) bool { return false }) != 0 {
		t.Error("something is left")
	}
}
