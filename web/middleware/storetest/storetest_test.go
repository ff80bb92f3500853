package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
)

// TestChecksFindFaults gives a store one fault at a time. The named check has to find it. The clock is a virtual one, so that a
// slow machine hides no fault.
func TestChecksFindFaults(t *testing.T) {
	for _, tc := range []struct {
		fault, check string
		store        middleware.Store
	}{
		{"forgets everything", "Store/values", forgets{sound()}},
		{"has no empty values", "Store/empty is not missing", noEmpty{sound()}},
		{"has text for keys", "Store/all keys", trimsKeys{sound()}},
		{"keeps the caller's bytes", "Store/values belong to the caller", &shares{sound(), map[string][]byte{}}},
		{"ignores the context", "Store/context", noContext{sound()}},
		{"takes a negative ttl for no expiry", "Store/negative ttl", ttls{sound(), func(ttl time.Duration) time.Duration { return max(ttl, 0) }}},
		{"rounds ttl down", "Store/expiry", ttls{sound(), func(ttl time.Duration) time.Duration { return ttl - ttl%time.Millisecond }}},
		{"expires early", "Store/expiry", ttls{sound(), func(ttl time.Duration) time.Duration { return ttl - ttl/10 }}},
		{"cannot have the longest ttl", "Store/no expiry", ttls{sound(), func(ttl time.Duration) time.Duration {
			if ttl > 1<<62 {
				return 1
			}
			return ttl
		}}},
		{"adds in two steps", "Adder/one of many", addsInSteps{sound()}},
		{"adds without the ttl", "Adder/expiry", addsFor{sound(), 100 * time.Hour}},
		{"adds for too short a time", "Adder/expiry", addsFor{sound(), time.Millisecond}},
		{"replaces when it adds", "Adder/values", addReplaces{sound()}},
		{"swaps in two steps", "Swapper/linearizable", swapsInSteps{sound()}},
		{"swaps a missing key", "Swapper/values", swapsMissing{sound()}},
		{"swaps with the old ttl", "Swapper/expiry", swapsFor{sound()}},
		{"deletes in two steps", "Swapper/one of many removes", swapsInSteps{sound()}},
		{"counts in two steps", "Counter/many at once", countsInSteps{sound(), false}},
		{"has a new ttl with each step", "Counter/expiry", countsInSteps{sound(), true}},
		{"takes text for 0", "Counter/limits", countsInSteps{sound(), false}},
		{"does not know the time that is left", "Counter/left", countsInSteps{sound(), false}},
		{"finds what it cannot touch", "Toucher/values", touchesAll{sound()}},
		{"touches without an effect", "Toucher/expiry", touchesAll{sound()}},
		{"takes from one bucket after the other", "Taker/all or none", takesInTurn{sound()}},
		{"takes from one bucket after the other", "Taker/many at once", takesInTurn{sound()}},
		{"gives back more than fits", "Taker/one bucket", takes{sound(), func(cost int64, b *middleware.Bucket) int64 { return max(cost, -1) }}},
		{"knows no burst", "Taker/burst", takes{sound(), func(cost int64, b *middleware.Bucket) int64 { b.Burst = 0; return cost }}},
		{"lets clients wait too short a time", "Taker/times", waits{sound(), 9}},
		{"pours twice as fast", "Taker/tokens come back", takes{sound(), func(cost int64, b *middleware.Bucket) int64 { b.Window /= 2; return cost }}},
		{"takes any settings", "Taker/settings", takes{sound(), func(cost int64, b *middleware.Bucket) int64 { b.Limit = max(b.Limit, 1); return cost }}},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			i := slices.IndexFunc(checks(), func(c check) bool { return c.name == tc.check })
			if i < 0 {
				t.Fatalf("no check is called %s", tc.check)
			}
			c := checks()[i]
			if c.needs != nil && !c.needs(tc.store) {
				t.Fatal("the store does not implement the interface")
			}
			synctest.Test(t, func(t *testing.T) {
				if len(c.on(t.Context(), tc.store, time.Second)) == 0 {
					t.Errorf("%s finds nothing", c.name)
				}
			})
		})
	}
}

// Stores that have the three methods only skip the rest.
func TestRunOnPlainStore(t *testing.T) {
	Run(t, func(*testing.T) middleware.Store { return struct{ middleware.Store }{sound()} })
}

func sound() *middleware.MemoryStore { return new(middleware.MemoryStore) }

// memory is what the stores below are made of.
type memory = *middleware.MemoryStore

// between leaves time for other goroutines between two steps.
func between() { time.Sleep(time.Millisecond) }

type forgets struct{ memory }

func (s forgets) Set(context.Context, string, []byte, time.Duration) error { return nil }

type noEmpty struct{ memory }

func (s noEmpty) Get(ctx context.Context, key string) ([]byte, bool, error) {
	value, _, err := s.memory.Get(ctx, key)
	return value, len(value) > 0, err
}

type trimsKeys struct{ memory }

func (s trimsKeys) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.memory.Set(ctx, string(bytes.TrimSpace([]byte(key))), value, ttl)
}

type shares struct {
	memory
	values map[string][]byte
}

func (s *shares) Set(_ context.Context, key string, value []byte, _ time.Duration) error {
	s.values[key] = value
	return nil
}

func (s *shares) Get(_ context.Context, key string) ([]byte, bool, error) {
	value, found := s.values[key]
	return value, found, nil
}

type noContext struct{ memory }

func (s noContext) Set(_ context.Context, key string, value []byte, ttl time.Duration) error {
	return s.memory.Set(context.Background(), key, value, ttl)
}

type ttls struct {
	memory
	change func(time.Duration) time.Duration
}

func (s ttls) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.memory.Set(ctx, key, value, s.change(ttl))
}

type addsInSteps struct{ memory }

func (s addsInSteps) Add(ctx context.Context, key string, value []byte, ttl time.Duration) ([]byte, bool, error) {
	if existing, found, err := s.Get(ctx, key); found || err != nil {
		return existing, false, err
	}
	between()
	return nil, true, s.Set(ctx, key, value, ttl)
}

type addsFor struct {
	memory
	ttl time.Duration
}

func (s addsFor) Add(ctx context.Context, key string, value []byte, ttl time.Duration) ([]byte, bool, error) {
	return s.memory.Add(ctx, key, value, s.ttl)
}

type addReplaces struct{ memory }

func (s addReplaces) Add(ctx context.Context, key string, value []byte, ttl time.Duration) ([]byte, bool, error) {
	existing, found, err := s.Get(ctx, key)
	return existing, !found, errors.Join(err, s.Set(ctx, key, value, ttl))
}

type swapsInSteps struct{ memory }

func (s swapsInSteps) CompareAndSwap(ctx context.Context, key string, old, replacement []byte, ttl time.Duration) (bool, error) {
	value, found, err := s.Get(ctx, key)
	if !found || err != nil || !bytes.Equal(value, old) {
		return false, err
	}
	between()
	return true, s.Set(ctx, key, replacement, ttl)
}

func (s swapsInSteps) CompareAndDelete(ctx context.Context, key string, old []byte) (bool, error) {
	value, found, err := s.Get(ctx, key)
	if !found || err != nil || !bytes.Equal(value, old) {
		return false, err
	}
	between()
	return true, s.Delete(ctx, key)
}

type swapsMissing struct{ memory }

func (s swapsMissing) CompareAndSwap(ctx context.Context, key string, old, replacement []byte, ttl time.Duration) (bool, error) {
	value, _, err := s.Get(ctx, key)
	if err != nil || !bytes.Equal(value, old) {
		return false, err
	}
	return true, s.Set(ctx, key, replacement, ttl)
}

type swapsFor struct{ memory }

func (s swapsFor) CompareAndSwap(ctx context.Context, key string, old, replacement []byte, ttl time.Duration) (bool, error) {
	return s.memory.CompareAndSwap(ctx, key, old, replacement, ttl/2)
}

type countsInSteps struct {
	memory
	ownTTL bool // each step has a ttl of its own, which is a short one
}

func (s countsInSteps) Incr(ctx context.Context, key string, n int64, ttl time.Duration) (int64, time.Duration, error) {
	if s.ownTTL {
		ttl = time.Millisecond
	}
	text, _, err := s.Get(ctx, key)
	if err != nil {
		return 0, 0, err
	}
	value, _ := strconv.ParseInt(string(text), 10, 64)
	between()
	return value + n, 0, s.Set(ctx, key, strconv.AppendInt(nil, value+n, 10), ttl)
}

type touchesAll struct{ memory }

func (s touchesAll) Touch(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	return true, ctx.Err()
}

type takesInTurn struct{ memory }

func (s takesInTurn) Take(ctx context.Context, cost int64, buckets []middleware.Bucket) (bool, error) {
	all := true
	for i := range buckets {
		taken, err := s.memory.Take(ctx, cost, buckets[i:i+1])
		if err != nil {
			return false, err
		}
		all = all && taken
	}
	return all, nil
}

type takes struct {
	memory
	change func(cost int64, b *middleware.Bucket) int64
}

func (s takes) Take(ctx context.Context, cost int64, buckets []middleware.Bucket) (bool, error) {
	for i := range buckets {
		cost = s.change(cost, &buckets[i])
	}
	return s.memory.Take(ctx, cost, buckets)
}

type waits struct {
	memory
	tenths time.Duration // of the right time
}

func (s waits) Take(ctx context.Context, cost int64, buckets []middleware.Bucket) (bool, error) {
	taken, err := s.memory.Take(ctx, cost, buckets)
	for i := range buckets {
		buckets[i].RetryAfter = buckets[i].RetryAfter * s.tenths / 10
	}
	return taken, err
}
