package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// remoteStore is a MemoryStore that counts how often a Limiter asks it.
type remoteStore struct {
	middleware.MemoryStore
	asked atomic.Int64
	fails atomic.Bool
}

func (s *remoteStore) Take(ctx context.Context, cost int64, buckets []middleware.Bucket) (bool, error) {
	s.asked.Add(1)
	if s.fails.Load() {
		return false, errors.New("away")
	}
	return s.MemoryStore.Take(ctx, cost, buckets)
}

func (s *remoteStore) Incr(ctx context.Context, key string, n int64, ttl time.Duration) (int64, time.Duration, error) {
	if n > 0 {
		s.asked.Add(1)
	}
	return s.MemoryStore.Incr(ctx, key, n, ttl)
}

// ask sends a request of a client, and checks its status and how often the store was asked by then.
func (s *remoteStore) ask(t *testing.T, app *web.App, client string, cost, status int, asked int64) answer {
	t.Helper()
	a := ask(t, app, "GET", "/", "X-Client: "+client, fmt.Sprint("X-Cost: ", cost))
	if a.status != status || s.asked.Load() != asked {
		t.Errorf("%s: status %d after %d calls of the store, want %d and %d", client, a.status, s.asked.Load(), status, asked)
	}
	return a
}

func deniedApp(o middleware.Limiter) *web.App {
	o.Key, o.Name = byHeader("X-Client"), "test"
	app := newApp(o)
	app.Get("/", says("hello"))
	return app
}

func TestLimiterDoesNotAskAgain(t *testing.T) {
	for name, algorithm := range map[string]middleware.RateAlgorithm{"TokenBucket": middleware.TokenBucket, "FixedWindow": middleware.FixedWindow} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &remoteStore{}
				app := deniedApp(middleware.Limiter{Store: s, Algorithm: algorithm, Rates: []middleware.Rate{{Limit: 1, Window: 2500 * time.Millisecond}}})
				s.ask(t, app, "a", 1, 200, 1)
				first := s.ask(t, app, "a", 1, 429, 2)
				for range 5 {
					again := s.ask(t, app, "a", 1, 429, 2)
					again.want(t, "Retry-After", first.header.Get("Retry-After"))
					again.want(t, "Ratelimit", first.header.Get("Ratelimit"))
				}
				s.ask(t, app, "b", 1, 200, 3) // another client
				time.Sleep(999 * time.Millisecond)
				s.ask(t, app, "a", 1, 429, 3).want(t, "Retry-After", "2") // 1.501 s
				time.Sleep(time.Millisecond)
				s.ask(t, app, "a", 1, 429, 4) // 1.5 s are left
				time.Sleep(time.Second)
				s.ask(t, app, "a", 1, 429, 5) // 0.5 s are left, which is too short to remember
				s.ask(t, app, "a", 1, 429, 6)
				time.Sleep(500 * time.Millisecond)
				s.ask(t, app, "a", 1, 200, 7) // not a moment later
			})
		})
	}
}

// Deleting a bucket lets the client in after at most a second.
func TestLimiterForgetsDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &remoteStore{}
		app := deniedApp(middleware.Limiter{Store: s, Rates: []middleware.Rate{{Limit: 1, Window: time.Hour}}})
		s.ask(t, app, "a", 1, 200, 1)
		s.ask(t, app, "a", 1, 429, 2)
		if err := s.Delete(t.Context(), "test:{a}:default"); err != nil {
			t.Fatal(err)
		}
		s.ask(t, app, "a", 1, 429, 2)
		time.Sleep(time.Second)
		s.ask(t, app, "a", 1, 200, 3)
	})
}

func TestLimiterAsksForSmallerCost(t *testing.T) {
	s := &remoteStore{}
	cost := func(c *web.Ctx) (n int64) { fmt.Sscan(c.ReqHeader("X-Cost"), &n); return n }
	app := deniedApp(middleware.Limiter{Store: s, Cost: cost, Rates: []middleware.Rate{{Limit: 10, Window: time.Hour}}})
	s.ask(t, app, "a", 8, 200, 1)
	s.ask(t, app, "a", 5, 429, 2)
	s.ask(t, app, "a", 6, 429, 2)
	s.ask(t, app, "a", 2, 200, 3)
	s.ask(t, app, "b", 11, 429, 4) // more than the limit, whatever the state is
	s.ask(t, app, "b", 11, 429, 5)
}

// The Store is always asked if a refused client may get room before its time.
func TestLimiterAlwaysAsks(t *testing.T) {
	one := []middleware.Rate{{Limit: 1, Window: time.Hour}}
	two := append(one, middleware.Rate{Name: "daily", Limit: 100, Window: 24 * time.Hour})
	for name, o := range map[string]middleware.Limiter{
		"Refund":                          {Rates: one, Refund: func(*web.Ctx, error) bool { return false }},
		"SlidingWindow":                   {Rates: one, Algorithm: middleware.SlidingWindow},
		"FixedWindow with two Rates":      {Rates: two, Algorithm: middleware.FixedWindow},
		"FixedWindow with different Cost": {Rates: one, Algorithm: middleware.FixedWindow, Cost: func(*web.Ctx) int64 { return 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			s := &remoteStore{}
			o.Store = s
			app := deniedApp(o)
			for range 3 {
				before := s.asked.Load()
				if ask(t, app, "GET", "/", "X-Client: a"); s.asked.Load() == before {
					t.Error("the store was not asked")
				}
			}
		})
	}
}

// A refusal of the MemoryStore that stands in for the Store is not remembered.
func TestLimiterAsksWhenTheStoreIsBack(t *testing.T) {
	s := &remoteStore{}
	app := deniedApp(middleware.Limiter{Store: s, Rates: []middleware.Rate{{Limit: 1, Window: time.Hour}}})
	s.fails.Store(true)
	s.ask(t, app, "a", 1, 200, 1)
	s.ask(t, app, "a", 1, 429, 2)
	s.fails.Store(false)
	s.ask(t, app, "a", 1, 200, 3)
}

// Many clients that are refused do not fill the memory.
func TestLimiterForgetsSomeDenials(t *testing.T) {
	t.Parallel()
	s := &remoteStore{}
	app := deniedApp(middleware.Limiter{Store: s, Rates: []middleware.Rate{{Limit: 1, Window: time.Hour}}})
	const clients = 4096 + 500
	synctest.Test(t, func(t *testing.T) {
		for i := range clients {
			for range 2 {
				ask(t, app, "GET", "/", fmt.Sprint("X-Client: ", i))
			}
		}
		before := s.asked.Load()
		for i := range clients {
			ask(t, app, "GET", "/", fmt.Sprint("X-Client: ", i))
		}
		if n := s.asked.Load() - before; n < 500 || n > clients {
			t.Errorf("the store was asked %d times, want at least 500, because only 4096 clients are remembered", n)
		}
	})
}
