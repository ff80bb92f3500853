package middleware_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
	"github.com/gallop-http/gallop/web/middleware/storetest"
)

func TestMemoryStoreKeepsItsPromises(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) middleware.Store { return new(middleware.MemoryStore) })
}

// A small store has one part instead of 64.
func TestSmallMemoryStoreKeepsItsPromises(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) middleware.Store { return &middleware.MemoryStore{MaxBytes: 1<<20 - 1} })
}

func TestMemoryStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s middleware.MemoryStore
		ctx := t.Context()
		want := func(key, value string) {
			t.Helper()
			got, found, err := s.Get(ctx, key)
			if err != nil || string(got) != value || found != (value != "") {
				t.Errorf("%s: %q, %t, %v, want %q", key, got, found, err, value)
			}
		}
		want("a", "")
		value := []byte("one")
		s.Set(ctx, "a", value, time.Minute)
		value[0] = 'X'
		want("a", "one")
		got, _, _ := s.Get(ctx, "a")
		got[0] = 'X'
		want("a", "one")
		s.Set(ctx, "a", []byte("two"), 0)
		s.Set(ctx, "b", []byte("b"), time.Minute)
		s.Set(ctx, "c", []byte("c"), math.MaxInt64)
		time.Sleep(time.Minute - time.Nanosecond)
		want("b", "b")
		time.Sleep(time.Nanosecond)
		want("b", "")
		want("a", "two")
		time.Sleep(1000 * time.Hour)
		want("a", "two")
		want("c", "c")
		for range 2 {
			if err := s.Delete(ctx, "a"); err != nil {
				t.Error(err)
			}
		}
		want("a", "")
		s.Set(ctx, "empty", nil, 0)
		if got, found, err := s.Get(ctx, "empty"); !found || len(got) > 0 || err != nil {
			t.Errorf("an empty value: %v, %t, %v", got, found, err)
		}
	})
}

func TestMemoryStoreIsBounded(t *testing.T) {
	s := middleware.MemoryStore{MaxBytes: 10 * (128 + 2 + 100)}
	ctx := t.Context()
	value := []byte(strings.Repeat("x", 100))
	has := func(i int) bool {
		_, found, _ := s.Get(ctx, fmt.Sprintf("%02d", i))
		return found
	}
	for i := range 10 {
		s.Set(ctx, fmt.Sprintf("%02d", i), value, 0)
	}
	if !has(0) {
		t.Error("the first one is gone")
	}
	s.Set(ctx, "10", value, 0)
	s.Set(ctx, "10", value, 0) // in place of itself
	for i := range 11 {
		if has(i) != (i != 1) { // the one not used for the longest time
			t.Errorf("%d: %t", i, has(i))
		}
	}
	if err := s.Set(ctx, "xx", make([]byte, 10*(128+2+100)), 0); !errors.Is(err, middleware.ErrValueTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if !has(10) {
		t.Error("what is too large has driven others out")
	}
	s.Set(ctx, "yy", make([]byte, 10*(128+2+100)-130), 0)
	if _, found, _ := s.Get(ctx, "yy"); !found || has(10) {
		t.Error("what is as large as the store is not all there is")
	}
}

func TestMemoryStoreByMany(t *testing.T) {
	s := middleware.MemoryStore{MaxBytes: 2000}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				key := fmt.Sprint((g + i) % 20)
				s.Set(t.Context(), key, []byte(key), time.Duration(i%3))
				if got, found, err := s.Get(t.Context(), key); err != nil || found && string(got) != key {
					t.Errorf("%q, %v", got, err)
				}
				s.Delete(t.Context(), key)
			}
		})
	}
	wg.Wait()
}

// A store with many parts keeps its bound, too: also while many goroutines set values, and if each part has room for less than
// one of them.
func TestMemoryStoreWithPartsIsBounded(t *testing.T) {
	const limit, values, size = 1 << 20, 40, 400 << 10
	s := middleware.MemoryStore{MaxBytes: limit}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range values {
				if err := s.Set(t.Context(), fmt.Sprint(g, i), make([]byte, size), 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	kept := 0
	for g := range 4 {
		for i := range values {
			if _, found, _ := s.Get(t.Context(), fmt.Sprint(g, i)); found {
				kept++
			}
		}
	}
	if kept == 0 || kept > limit/size {
		t.Errorf("%d values of %d bytes are in a store of %d", kept, size, limit)
	}
	if err := s.Set(t.Context(), "all", make([]byte, limit-128-3), 0); err != nil {
		t.Error(err)
	}
	if _, found, _ := s.Get(t.Context(), "all"); !found {
		t.Error("a value as large as the store is not there")
	}
	if err := s.Set(t.Context(), "more", make([]byte, limit-128-3), 0); !errors.Is(err, middleware.ErrValueTooLarge) {
		t.Errorf("a value larger than the store: %v", err)
	}
	if _, found, _ := s.Get(t.Context(), "all"); !found {
		t.Error("a value that is too large has removed another one")
	}
}

// A large value that is replaced by a small one leaves nothing behind, nor do buckets that are full again.
func TestMemoryStoreCountsWhatIsThere(t *testing.T) {
	s := middleware.MemoryStore{MaxBytes: 2 * (128 + 1 + 100)}
	ctx, value := t.Context(), make([]byte, 100)
	for range 10 {
		s.Set(ctx, "a", value, 0)
		s.Set(ctx, "a", nil, 0)
		s.CompareAndSwap(ctx, "a", nil, value, 0)
		s.CompareAndDelete(ctx, "a", value)
		s.Take(ctx, 1, []middleware.Bucket{{Key: "b", Limit: 1, Window: time.Hour}})
		s.Take(ctx, -1, []middleware.Bucket{{Key: "b", Limit: 1, Window: time.Hour}})
		s.Incr(ctx, "n", 1, 0)
		s.Delete(ctx, "n")
	}
	s.Set(ctx, "x", value, 0)
	s.Set(ctx, "y", value, 0)
	for _, key := range []string{"x", "y"} {
		if _, found, _ := s.Get(ctx, key); !found {
			t.Errorf("there was no room for %s", key)
		}
	}
}

// A counter is a text for all methods that read or compare values, and a text in the form of a number is a counter.
func TestMemoryStoreNumbersAreTexts(t *testing.T) {
	var s middleware.MemoryStore
	ctx := t.Context()
	is := func(key, want string) {
		t.Helper()
		if v, found, err := s.Get(ctx, key); string(v) != want || !found || err != nil {
			t.Errorf("%s is %q, %v, %v, not %q", key, v, found, err, want)
		}
	}
	s.Incr(ctx, "a", -41, 0)
	is("a", "-41")
	if there, added, _ := s.Add(ctx, "a", []byte("x"), 0); added || string(there) != "-41" {
		t.Errorf("Add: %q, %v", there, added)
	}
	if swapped, _ := s.CompareAndSwap(ctx, "a", []byte("41"), []byte("x"), 0); swapped {
		t.Error("swapped another number")
	}
	if swapped, _ := s.CompareAndSwap(ctx, "a", []byte("-41"), []byte("text"), 0); !swapped {
		t.Error("not swapped")
	}
	is("a", "text")
	if _, _, err := s.Incr(ctx, "a", 1, 0); err == nil {
		t.Error("a text was counted")
	}
	s.Set(ctx, "a", []byte("7"), 0)
	s.Incr(ctx, "a", 1, 0)
	is("a", "8")
	if deleted, _ := s.CompareAndDelete(ctx, "a", []byte("8")); !deleted {
		t.Error("not deleted")
	}
	for _, text := range []string{"07", "+7", "-0", "7 ", ""} {
		s.Set(ctx, "a", []byte(text), 0)
		if _, _, err := s.Incr(ctx, "a", 1, 0); err == nil {
			t.Errorf("%q was counted", text)
		}
		is("a", text)
	}
}

// Take decides as a bucket does into which tokens are poured as time goes by.
func TestTakeIsATokenBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s middleware.MemoryStore
		for round := range 200 {
			limit, burst := 1+rand.Int64N(20), 1+rand.Int64N(30)
			b := middleware.Bucket{Key: fmt.Sprint(round), Limit: limit, Window: time.Duration(limit) * time.Duration(1+rand.Int64N(1e9)), Burst: burst}
			token := int64(b.Window) / limit // in nanoseconds
			level, last := burst*token, time.Now()
			for range 100 {
				time.Sleep(time.Duration(rand.Int64N(3 * token)))
				level, last = min(level+int64(time.Since(last)), burst*token), time.Now()
				cost := rand.Int64N(burst+4) - 2
				want := cost <= 0 || cost*token <= level
				if want {
					level = min(level-cost*token, burst*token)
				}
				one := []middleware.Bucket{b}
				got, err := s.Take(t.Context(), cost, one)
				if err != nil || got != want || one[0].Left != level/token || int64(one[0].ResetAfter) != burst*token-level {
					t.Fatalf("cost %d: %t, %v, %+v, want %t and %d ns of %d for a token", cost, got, err, one[0], want, level, token)
				}
				wait := time.Duration(0)
				switch {
				case cost > burst:
					wait = -1
				case !want:
					wait = time.Duration(cost*token - level)
				}
				if one[0].RetryAfter != wait {
					t.Fatalf("RetryAfter is %v, want %v", one[0].RetryAfter, wait)
				}
			}
		}
	})
}

// A window that cannot be divided by the limit never gives a client more than the limit.
func TestTakeRoundsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s middleware.MemoryStore
		taken, b := 0, middleware.Bucket{Key: "b", Limit: 7, Window: time.Second, Burst: 1}
		for start := time.Now(); time.Since(start) < 100*time.Second; {
			one := []middleware.Bucket{b}
			if ok, _ := s.Take(t.Context(), 1, one); ok {
				taken++
			} else {
				time.Sleep(one[0].RetryAfter)
			}
		}
		if taken > 701 || taken < 700 {
			t.Errorf("%d of 700 tokens", taken)
		}
	})
}

// The calls that middleware makes for each request need no memory.
func TestMemoryStoreAllocations(t *testing.T) {
	var s middleware.MemoryStore
	ctx, value := t.Context(), []byte("value")
	one := []middleware.Bucket{{Key: "bucket", Limit: 1 << 20, Window: 1000 * time.Hour}}
	for name, call := range map[string]func(){
		"Set":            func() { s.Set(ctx, "set", value, time.Hour) },
		"CompareAndSwap": func() { s.CompareAndSwap(ctx, "set", value, value, time.Hour) },
		"Incr":           func() { s.Incr(ctx, "incr", 1, time.Hour) },
		"Touch":          func() { s.Touch(ctx, "set", time.Hour) },
		"Take":           func() { s.Take(ctx, 1, one) },
	} {
		if n := testing.AllocsPerRun(1000, call); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
