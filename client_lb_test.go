package gallop

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var errBroken = errors.New("broken")

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

// lbContextFunc is a client that sees contexts, too.
type lbContextFunc struct {
	lbFunc
	doContext func(ctx context.Context) error
}

func (f lbContextFunc) DoContext(ctx context.Context, _ *Request, _ *Response) error {
	return f.doContext(ctx)
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

// A caller without time left is no failure of a client.
func TestLBPastDeadline(t *testing.T) {
	calls := 0
	lb := LBClient{Clients: []BalancingClient{lbFunc{do: func(time.Time) error { calls++; return errBroken }}}}
	for name, err := range map[string]error{
		"past":             lb.DoDeadline(nil, nil, time.Now().Add(-time.Hour)),
		"zero timeout":     lb.DoTimeout(nil, nil, 0),
		"negative timeout": lb.DoTimeout(nil, nil, -time.Second),
		"lowest timeout":   lb.DoTimeout(nil, nil, math.MinInt64),
	} {
		if err != ErrTimeout || calls != 0 || lb.all()[0].penalty() != 0 {
			t.Errorf("%s: error %v, %d calls, penalty %v", name, err, calls, lb.all()[0].penalty())
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

// A call that the caller cancels does not count as a failure of the client. A call that takes too long does.
func TestLBContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		u := lbContextFunc{lbFunc{}, func(ctx context.Context) error { calls++; <-ctx.Done(); return ctx.Err() }}
		other := lbFunc{do: func(time.Time) error { calls++; return nil }}
		lb := LBClient{Clients: []BalancingClient{u, other}, Strategy: LBRoundRobin}
		ctx, cancel := context.WithCancel(context.Background())
		go func() { time.Sleep(time.Second); cancel() }()
		if err := lb.DoContext(ctx, nil, nil); err != context.Canceled || calls != 1 {
			t.Errorf("error %v", err)
		}
		if err := lb.DoContext(ctx, nil, nil); !errors.Is(err, context.Canceled) || calls != 1 {
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

func BenchmarkLBClient(b *testing.B) {
	lb := LBClient{Clients: slices.Repeat([]BalancingClient{lbFunc{}}, 8)}
	b.ReportAllocs()
	for b.Loop() {
		lb.choose().running.Add(-1)
	}
}
