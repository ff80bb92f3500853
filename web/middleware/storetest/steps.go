package storetest

import (
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
)

var addChecks = []check{
	{name: "Adder/values", needs: has[middleware.Adder], test: func(s *session) {
		key := s.key("a")
		is(s, "a missing key", s.add(key, "one", 0), missing)
		is(s, "a key with a value", s.add(key, "two", 0), "one")
		s.want("after both", key, "one")
		s.ok(s.store.Delete(s.ctx, key), "Delete")
		is(s, "a key that was deleted", s.add(key, "", 0), missing)
		is(s, "a key with the empty value", s.add(key, "three", 0), "")
		s.want("at the end", key, "")
	}},
	{name: "Adder/the value belongs to the caller", needs: has[middleware.Adder], test: func(s *session) {
		key, value := s.key("a"), []byte("one")
		for range 2 {
			existing, _, err := s.store.(middleware.Adder).Add(s.ctx, key, value, 0)
			s.ok(err, "Add")
			clear(value)
			clear(existing)
			s.want("after a change", key, "one")
		}
	}},
	{name: "Adder/expiry", needs: has[middleware.Adder], test: func(s *session) {
		s.expires("Add", func(key string, ttl time.Duration) { s.add(key, "one", ttl) })
		for _, later := range []time.Duration{0, time.Hour} { // which has no effect while the first value is there
			key := s.key("claimed" + later.String())
			s.lasts("a claim", 50*time.Millisecond,
				func() { s.add(key, "one", 50*time.Millisecond) },
				func() bool { return s.add(key, "two", later) != missing })
			s.want("the second claim", key, "two")
		}
	}},
	{name: "Adder/one of many", needs: has[middleware.Adder], test: func(s *session) {
		all, atOnce := goroutines()
		key := s.key("a")
		var added atomic.Int64
		var winner atomic.Value
		s.together(all, atOnce, func(i int) {
			mine := strconv.Itoa(i)
			existing, ok, err := s.store.(middleware.Adder).Add(s.ctx, key, []byte(mine), time.Hour)
			switch {
			case err != nil:
				s.errorf("Add: %v", err)
			case ok:
				added.Add(1)
				winner.Store(mine)
			case len(existing) == 0:
				s.errorf("Add returns neither true nor the value")
			}
		})
		is(s, "how many were added", added.Load(), 1)
		first, _ := winner.Load().(string)
		s.want("the winner", key, first)
	}},
}

// add adds a value, and returns the value that the key has had.
func (s *session) add(key, value string, ttl time.Duration) string {
	existing, added, err := s.store.(middleware.Adder).Add(s.ctx, key, []byte(value), ttl)
	s.ok(err, "Add")
	if !added {
		return string(existing)
	}
	if len(existing) > 0 {
		s.errorf("Add returns a value and added == true")
	}
	return missing
}

var swapChecks = []check{
	{name: "Swapper/values", needs: has[middleware.Swapper], test: func(s *session) {
		key := s.key("a")
		is(s, "a missing key and the empty value", s.swap(key, "", "one", 0), false)
		is(s, "a missing key, to be removed", s.remove(key, ""), false)
		s.want("after that", key, missing)
		s.set(key, "one", 0)
		is(s, "another value", s.swap(key, "on", "two", 0), false)
		is(s, "another value, to be removed", s.remove(key, "ones"), false)
		s.want("after that", key, "one")
		is(s, "the same value", s.swap(key, "one", "", 0), true)
		s.want("the empty value", key, "")
		is(s, "the old value again", s.swap(key, "one", "three", 0), false)
		is(s, "the empty value", s.swap(key, "", "\x00\xff", 0), true)
		s.want("binary", key, "\x00\xff")
		is(s, "the same value, to be removed", s.remove(key, "\x00\xff"), true)
		s.want("at the end", key, missing)
	}},
	{name: "Swapper/the value belongs to the caller", needs: has[middleware.Swapper], test: func(s *session) {
		key, value := s.key("a"), []byte("two")
		s.set(key, "one", 0)
		_, err := s.store.(middleware.Swapper).CompareAndSwap(s.ctx, key, []byte("one"), value, 0)
		s.ok(err, "CompareAndSwap")
		clear(value)
		s.want("after a change", key, "two")
	}},
	{name: "Swapper/expiry", needs: has[middleware.Swapper], test: func(s *session) {
		s.expires("CompareAndSwap", func(key string, ttl time.Duration) {
			s.set(key, "one", time.Hour)
			s.swap(key, "one", "two", ttl)
		})
		s.expires("CompareAndSwap that fails", func(key string, ttl time.Duration) {
			s.set(key, "one", ttl)
			s.swap(key, "other", "two", 0)
		})
		key := s.key("gone")
		s.lasts("swapping", 5*time.Millisecond,
			func() { s.set(key, "one", 5*time.Millisecond) },
			func() bool { return s.get(key) != missing })
		is(s, "a value that has expired", s.swap(key, "one", "two", 0), false)
	}},
	{name: "Swapper/linearizable", needs: has[middleware.Swapper], test: func(s *session) {
		const workers, each = 50, 10
		key := s.key("n")
		s.set(key, "0", 0)
		var won [workers*each + 1]atomic.Int32 // how often a swap from this number has succeeded
		s.together(workers, workers, func(int) {
			for done := 0; done < each; {
				value, found, err := s.store.Get(s.ctx, key)
				n, bad := strconv.Atoi(string(value))
				if err != nil || !found || bad != nil || n >= workers*each {
					s.errorf("Get: %q, %v, %v", value, found, err)
					return
				}
				swapped, err := s.store.(middleware.Swapper).CompareAndSwap(s.ctx, key, value, []byte(strconv.Itoa(n+1)), time.Hour)
				if err != nil {
					s.errorf("CompareAndSwap: %v", err)
					return
				}
				if swapped {
					won[n].Add(1)
					done++
				}
			}
		})
		for n := range workers * each {
			if times := won[n].Load(); times != 1 {
				s.errorf("%d swaps from %d have succeeded", times, n)
			}
		}
		s.want("the sum", key, strconv.Itoa(workers*each))
	}},
	{name: "Swapper/one of many removes", needs: has[middleware.Swapper], test: func(s *session) {
		all, atOnce := goroutines()
		key := s.key("a")
		s.set(key, "one", 0)
		var deleted atomic.Int64
		s.together(all/10, atOnce, func(int) {
			ok, err := s.store.(middleware.Swapper).CompareAndDelete(s.ctx, key, []byte("one"))
			if err != nil {
				s.errorf("CompareAndDelete: %v", err)
			}
			if ok {
				deleted.Add(1)
			}
		})
		is(s, "how many have deleted it", deleted.Load(), 1)
	}},
}

func (s *session) swap(key, old, replacement string, ttl time.Duration) bool {
	swapped, err := s.store.(middleware.Swapper).CompareAndSwap(s.ctx, key, []byte(old), []byte(replacement), ttl)
	s.ok(err, "CompareAndSwap")
	return swapped
}

func (s *session) remove(key, old string) bool {
	deleted, err := s.store.(middleware.Swapper).CompareAndDelete(s.ctx, key, []byte(old))
	s.ok(err, "CompareAndDelete")
	return deleted
}

var countChecks = []check{
	{name: "Counter/values", needs: has[middleware.Counter], test: func(s *session) {
		key := s.key("n")
		is(s, "a missing key", s.incr(key, 3, 0), 3)
		is(s, "again", s.incr(key, 4, 0), 7)
		is(s, "a negative number", s.incr(key, -10, 0), -3)
		is(s, "zero", s.incr(key, 0, 0), -3)
		s.want("Get", key, "-3")
		s.set(key, "41", 0)
		is(s, "after Set", s.incr(key, 1, 0), 42)
		s.ok(s.store.Delete(s.ctx, key), "Delete")
		is(s, "after Delete", s.incr(key, 0, 0), 0)
		s.want("zero", key, "0")
	}},
	{name: "Counter/limits", needs: has[middleware.Counter], test: func(s *session) {
		key := s.key("n")
		is(s, "the largest", s.incr(key, math.MaxInt64, 0), math.MaxInt64)
		s.cannot(key, 1)
		is(s, "down", s.incr(key, -math.MaxInt64, 0), 0)
		is(s, "the smallest", s.incr(key, math.MinInt64, 0), math.MinInt64)
		s.cannot(key, -1)
		s.cannot(key, math.MinInt64)
		for _, text := range []string{"", "x", "1x", " 1", "1 ", "+1", "007", "-0", "1.0", "1e3", "9223372036854775808", "-9223372036854775809"} {
			s.set(key, text, 0)
			s.cannot(key, 1)
		}
	}},
	{name: "Counter/expiry", needs: has[middleware.Counter], test: func(s *session) {
		s.expires("Incr", func(key string, ttl time.Duration) { s.incr(key, 1, ttl) })
		for _, later := range []time.Duration{0, time.Hour} { // which has no effect while the counter is there
			for _, ttl := range []time.Duration{1, 1500 * time.Microsecond, 50 * time.Millisecond} {
				key := s.key(ttl.String() + later.String())
				s.lasts("a window", ttl, func() { s.incr(key, 1, ttl) }, func() bool { return s.incr(key, 1, later) > 1 })
			}
		}
	}},
	{name: "Counter/left", needs: has[middleware.Counter], test: func(s *session) {
		key := s.key("n")
		start := time.Now()
		for range 3 {
			_, left, err := s.store.(middleware.Counter).Incr(s.ctx, key, 1, time.Minute)
			s.ok(err, "Incr")
			if least := time.Minute - time.Since(start); left < least || left > time.Minute+time.Second { // a coarse clock rounds up
				s.errorf("%v are left of a minute, when at least %v are", left, least)
			}
			time.Sleep(5 * time.Millisecond)
		}
		for range 2 {
			_, left, err := s.store.(middleware.Counter).Incr(s.ctx, s.key("forever"), 1, 0)
			s.ok(err, "Incr")
			is(s, "left without an expiry", left, 0)
		}
		_, left, err := s.store.(middleware.Counter).Incr(s.ctx, s.key("forever"), 1, time.Hour)
		s.ok(err, "Incr")
		is(s, "left without an expiry, with a ttl that comes too late", left, 0)
	}},
	{name: "Counter/many at once", needs: has[middleware.Counter], test: func(s *session) {
		all, atOnce := goroutines()
		key, seen := s.key("n"), make([]atomic.Bool, all+1)
		s.together(all, atOnce, func(int) {
			n, _, err := s.store.(middleware.Counter).Incr(s.ctx, key, 1, time.Hour)
			if err != nil || n < 1 || n > int64(all) || seen[n].Swap(true) {
				s.errorf("Incr: %d, %v: out of range or twice", n, err)
			}
		})
		s.want("the sum", key, strconv.Itoa(all))
	}},
}

func (s *session) incr(key string, n int64, ttl time.Duration) int64 {
	value, _, err := s.store.(middleware.Counter).Incr(s.ctx, key, n, ttl)
	s.ok(err, "Incr")
	return value
}

// cannot checks that n cannot be added to the value of a key, which stays what it was.
func (s *session) cannot(key string, n int64) {
	before := s.get(key)
	if value, _, err := s.store.(middleware.Counter).Incr(s.ctx, key, n, 0); err == nil {
		s.errorf("%d can be added to %q: %d", n, before, value)
	}
	s.want("after Incr that fails", key, before)
}

var touchChecks = []check{
	{name: "Toucher/values", needs: has[middleware.Toucher], test: func(s *session) {
		key := s.key("a")
		is(s, "a missing key", s.touch(key, time.Hour), false)
		s.want("after that", key, missing)
		for _, value := range []string{"one", ""} {
			s.set(key, value, time.Hour)
			is(s, "a key with a value", s.touch(key, 2*time.Hour), true)
			s.want("after that", key, value)
		}
	}},
	{name: "Toucher/expiry", needs: has[middleware.Toucher], test: func(s *session) {
		s.expires("Touch", func(key string, ttl time.Duration) {
			s.set(key, "one", time.Hour)
			s.touch(key, ttl)
		})
		s.expires("Touch of a value without an expiry", func(key string, ttl time.Duration) {
			s.set(key, "one", 0)
			s.touch(key, ttl)
		})
		// A slow machine may be too late to touch the value, so what counts is what Touch says.
		for name, ttl := range map[string]time.Duration{"later": time.Hour, "never": 0} {
			key := s.key(name)
			s.set(key, "one", 50*time.Millisecond)
			if s.touch(key, ttl) {
				time.Sleep(100 * time.Millisecond)
				s.want("after Touch with "+ttl.String(), key, "one")
			}
		}
	}},
}

func (s *session) touch(key string, ttl time.Duration) bool {
	found, err := s.store.(middleware.Toucher).Touch(s.ctx, key, ttl)
	s.ok(err, "Touch")
	return found
}
