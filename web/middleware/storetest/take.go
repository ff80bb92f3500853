package storetest

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
)

// slow is a window in which no token comes back while a test runs.
const slow = 1000 * time.Hour

var takeChecks = []check{
	{name: "Taker/one bucket", needs: has[middleware.Taker], test: func(s *session) {
		b := middleware.Bucket{Key: s.key("b"), Limit: 10, Window: slow}
		s.take("a new bucket", 0, true, 10, b)
		s.take("one token", 1, true, 9, b)
		s.take("more tokens", 8, true, 1, b)
		s.take("more than are left", 2, false, 1, b)
		s.take("the last token", 1, true, 0, b)
		s.take("an empty bucket", 1, false, 0, b)
		s.take("a look at an empty bucket", 0, true, 0, b)
		s.take("tokens that come back", -4, true, 4, b)
		s.take("more than fit", -100, true, 10, b)
		s.take("all of them", 10, true, 0, b)
		s.take("the most that can come back", math.MinInt64, true, 10, b)
		s.take("the most that can be asked for", math.MaxInt64, false, 10, b)
		s.take("one token", 1, true, 9, b)
		s.ok(s.store.Delete(s.ctx, b.Key), "Delete")
		s.take("after Delete", 0, true, 10, b)
	}},
	{name: "Taker/burst", needs: has[middleware.Taker], test: func(s *session) {
		large := middleware.Bucket{Key: s.key("large"), Limit: 1, Window: slow, Burst: 5}
		s.take("a large bucket", 4, true, 1, large)
		s.take("more than are left", 2, false, 1, large)
		small := middleware.Bucket{Key: s.key("small"), Limit: 100, Window: slow, Burst: 2}
		s.take("a small bucket", 2, true, 0, small)
		s.take("more than are left", 1, false, 0, small)
		never := s.take("more than it holds", 3, false, 0, small)
		if never.RetryAfter >= 0 {
			s.errorf("more than Burst may be taken in %v", never.RetryAfter)
		}
		small.Burst = 1
		s.take("a bucket that has become smaller", 0, true, 0, small)
	}},
	{name: "Taker/times", needs: has[middleware.Taker], test: func(s *session) {
		b := middleware.Bucket{Key: s.key("b"), Limit: 10, Window: 1000 * time.Second} // a token in 100 seconds
		start := time.Now()
		got := s.take("a full bucket", 0, true, 10, b)
		s.between("RetryAfter of a full bucket", got.RetryAfter, 0, 0)
		s.between("ResetAfter of a full bucket", got.ResetAfter, 0, 0)
		got = s.take("seven tokens", 7, true, 3, b)
		s.between("RetryAfter of tokens taken", got.RetryAfter, 0, 0)
		s.between("ResetAfter of seven tokens", got.ResetAfter, 700*time.Second-time.Since(start), 700*time.Second)
		got = s.take("five more", 5, false, 3, b)
		s.between("RetryAfter of five more", got.RetryAfter, 200*time.Second-time.Since(start), 200*time.Second)
		s.between("ResetAfter, as before", got.ResetAfter, 700*time.Second-time.Since(start), 700*time.Second)
	}},
	{name: "Taker/tokens come back", needs: has[middleware.Taker], test: func(s *session) {
		b := middleware.Bucket{Key: s.key("b"), Limit: 1, Window: 50 * time.Millisecond}
		start, taken := time.Now(), int64(0)
		for time.Since(start) < 300*time.Millisecond {
			ok, got := s.tryTake(1, b)
			if ok {
				taken++
				continue
			}
			if got.RetryAfter <= 0 {
				s.errorf("a bucket without tokens has RetryAfter %v", got.RetryAfter)
				return
			}
			time.Sleep(got.RetryAfter)
			if ok, again := s.tryTake(1, b); ok {
				taken++
			} else if again.RetryAfter > 5*time.Millisecond { // two clocks may differ a little
				s.errorf("after the time in RetryAfter, %v, it is %v", got.RetryAfter, again.RetryAfter)
				return
			}
		}
		if most := 1 + int64(time.Since(start)/b.Window); taken > most {
			s.errorf("%d tokens were taken when there were %d", taken, most)
		}
	}},
	{name: "Taker/all or none", needs: has[middleware.Taker], test: func(s *session) {
		many, few := middleware.Bucket{Key: s.key("many"), Limit: 10, Window: slow}, middleware.Bucket{Key: s.key("few"), Limit: 3, Window: slow}
		for round := range 5 {
			buckets := []middleware.Bucket{many, few}
			taken, err := s.store.(middleware.Taker).Take(s.ctx, 1, buckets)
			s.ok(err, "Take")
			is(s, fmt.Sprintf("round %d", round), taken, round < 3)
			is(s, "left of many", buckets[0].Left, int64(10-min(round+1, 3)))
			is(s, "left of few", buckets[1].Left, int64(3-min(round+1, 3)))
			is(s, "whether the bucket with many lets wait", buckets[0].RetryAfter > 0, false)
			is(s, "whether the bucket with few lets wait", buckets[1].RetryAfter > 0, round >= 3)
		}
		s.take("the bucket with many", 7, true, 0, many)
		taken, err := s.store.(middleware.Taker).Take(s.ctx, 1, nil)
		s.ok(err, "Take without buckets")
		is(s, "Take without buckets", taken, true)
	}},
	{name: "Taker/settings", needs: has[middleware.Taker], test: func(s *session) {
		good := middleware.Bucket{Key: s.key("good"), Limit: 10, Window: slow}
		for name, bad := range map[string]middleware.Bucket{
			"no Limit":        {Key: s.key("b"), Window: time.Second},
			"negative Limit":  {Key: s.key("b"), Limit: -1, Window: time.Second},
			"no Window":       {Key: s.key("b"), Limit: 1},
			"negative Window": {Key: s.key("b"), Limit: 1, Window: -1},
			"negative Burst":  {Key: s.key("b"), Limit: 1, Window: time.Second, Burst: -1},
			"too long":        {Key: s.key("b"), Limit: 1, Window: 10000 * time.Hour, Burst: 1000},
			"longest":         {Key: s.key("b"), Limit: math.MaxInt64, Window: math.MaxInt64},
			"the same key":    good,
		} {
			for _, buckets := range [][]middleware.Bucket{{good, bad}, {bad, good}} {
				if _, err := s.store.(middleware.Taker).Take(s.ctx, 1, buckets); err == nil {
					s.errorf("%s: no error", name)
				}
			}
		}
		s.take("after calls with errors", 0, true, 10, good)
		key := s.key("text")
		s.set(key, "text", 0)
		if _, err := s.store.(middleware.Taker).Take(s.ctx, 1, []middleware.Bucket{good, {Key: key, Limit: 1, Window: slow}}); err == nil {
			s.errorf("a key that has text as its value: no error")
		}
		s.take("after a call with text", 0, true, 10, good)
	}},
	{name: "Taker/many at once", needs: has[middleware.Taker], test: func(s *session) {
		all, atOnce := goroutines()
		limit := int64(all / 4)
		a, b := middleware.Bucket{Key: s.key("a"), Limit: limit, Window: slow}, middleware.Bucket{Key: s.key("b"), Limit: limit * 2, Window: slow}
		var taken atomic.Int64
		s.together(all, atOnce, func(i int) {
			buckets := []middleware.Bucket{a, b}
			if i%2 == 0 {
				buckets[0], buckets[1] = b, a // the order must not make a deadlock
			}
			ok, err := s.store.(middleware.Taker).Take(s.ctx, 1, buckets)
			if err != nil {
				s.errorf("Take: %v", err)
			}
			if ok {
				taken.Add(1)
			}
		})
		is(s, "how many tokens were taken", taken.Load(), limit)
		s.take("the smaller bucket", 0, true, 0, a)
		s.take("the larger bucket", 0, true, limit, b)
	}},
}

// take takes tokens and checks whether that is possible, and how many are left.
func (s *session) take(what string, cost int64, want bool, left int64, b middleware.Bucket) middleware.Bucket {
	taken, b := s.tryTake(cost, b)
	is(s, what, taken, want)
	is(s, what+": left", b.Left, left)
	return b
}

func (s *session) tryTake(cost int64, b middleware.Bucket) (bool, middleware.Bucket) {
	b.Left, b.RetryAfter, b.ResetAfter = -1, -1, -1
	one := []middleware.Bucket{b}
	taken, err := s.store.(middleware.Taker).Take(s.ctx, cost, one)
	s.ok(err, "Take")
	return taken, one[0]
}

// between checks a time, which a store with a coarse clock may round up.
func (s *session) between(what string, got, least, most time.Duration) {
	if got < least || got > most+time.Second {
		s.errorf("%s: %v, want %v to %v", what, got, least, most)
	}
}
