package middleware

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
)

// RateAlgorithm selects how a [Limiter] counts requests.
type RateAlgorithm uint8

const (
	// TokenBucket lets a client send a burst, and then spreads its requests evenly over the Window. TokenBucket is exact, uses one
	// operation of the Store for each request, and relies only on the clock of the Store. The Store must be a [Taker].
	TokenBucket RateAlgorithm = iota

	// FixedWindow counts the requests since the first request of a window. After Window has passed, the count starts again at zero. A
	// client can send twice the Limit in a short time around the end of a window. FixedWindow relies only on the clock of the
	// Store. The Store must be a [Counter].
	FixedWindow

	// SlidingWindow estimates the number of requests in the last Window from the counts of the current and the previous window. The
	// estimate assumes that the requests of the previous window were spread evenly. SlidingWindow uses two or three operations of
	// the Store for each request. It also relies on the clocks of the processes that share the Store: they should differ by much
	// less than Window. The Store must be a [Counter].
	SlidingWindow
)

// on returns the function that takes from a store with this algorithm. It panics if the store lacks a method.
func (a RateAlgorithm) on(store Store) takeFunc {
	var take func(ctx context.Context, cost int64, buckets []Bucket) (taken bool, err error)
	switch a {
	case TokenBucket:
		take = need[Taker]("Limiter with TokenBucket", store).Take
	case FixedWindow:
		take = windows{need[Counter]("Limiter with FixedWindow", store)}.fixed
	case SlidingWindow:
		take = windows{need[Counter]("Limiter with SlidingWindow", store)}.sliding
	default:
		panic(fmt.Sprintf("middleware: a Limiter has the unknown Algorithm %d", a))
	}
	return func(ctx context.Context, cost int64, s *limitState) (bool, error) { return take(ctx, cost, s.buckets) }
}

// inMemory returns the function that takes from a MemoryStore with this algorithm, which is TokenBucket or FixedWindow. The function is for a
// Limiter with one rate. It reads the key from limitState.key.
func (a RateAlgorithm) inMemory(store *MemoryStore) takeFunc {
	if a == TokenBucket {
		return func(ctx context.Context, cost int64, s *limitState) (bool, error) {
			return store.takeKnown(ctx, cost, s.key, &s.buckets[0])
		}
	}
	return func(ctx context.Context, cost int64, s *limitState) (bool, error) {
		return takeFixed(cost, &s.buckets[0], func(n int64, ttl time.Duration) (int64, time.Duration, error) {
			ctx, ttl := lasting(ctx, n, ttl)
			return store.incrKnown(ctx, s.key, n, ttl)
		})
	}
}

// windows counts in the counters of a store.
type windows struct{ store Counter }

// undoTTL is how long a counter lasts that a refund has created. A refund for a counter that has just expired creates a counter
// below zero, which must not favor the client.
const undoTTL = time.Millisecond

// all calls one for each bucket. If a bucket has no room, all takes the cost back out of the buckets before it.
func (w windows) all(cost int64, buckets []Bucket, one func(cost int64, b *Bucket) (taken bool, err error)) (taken bool, err error) {
	for i := range buckets {
		taken, err := one(cost, &buckets[i])
		if taken {
			continue
		}
		for j := range buckets[:i] {
			if _, failed := one(-cost, &buckets[j]); err == nil {
				err = failed
			}
		}
		return false, err
	}
	return true, nil
}

// fixed takes from windows that begin with their first request.
func (w windows) fixed(ctx context.Context, cost int64, buckets []Bucket) (taken bool, err error) {
	return w.all(cost, buckets, func(cost int64, b *Bucket) (bool, error) {
		return takeFixed(cost, b, func(n int64, ttl time.Duration) (int64, time.Duration, error) { return w.add(ctx, b.Key, n, ttl) })
	})
}

// takeFixed takes from a window that begins with its first request. The function add adds n to the counter of the bucket.
func takeFixed(cost int64, b *Bucket, add func(n int64, ttl time.Duration) (value int64, left time.Duration, err error)) (taken bool, err error) {
	n, left, err := add(cost, b.Window)
	if err != nil {
		return false, err
	}
	taken = n <= b.Limit || cost < 0
	b.RetryAfter, b.ResetAfter = 0, left
	if !taken {
		if n, _, err = add(-cost, 0); err != nil {
			return false, err
		}
		b.RetryAfter = max(left, 1)
		if cost > b.Limit {
			b.RetryAfter = -1
		}
	}
	b.Left = max(b.Limit-max(n, 0), 0)
	return taken, nil
}

// add adds n to a counter.
func (w windows) add(ctx context.Context, key string, n int64, ttl time.Duration) (value int64, left time.Duration, err error) {
	ctx, ttl = lasting(ctx, n, ttl)
	return w.store.Incr(ctx, key, n, ttl)
}

// lasting returns the context and the ttl with which to add n to a counter. If n is negative, a counter that is missing is created only for a
// moment, and the context is never canceled, because the cost would be lost.
func lasting(ctx context.Context, n int64, ttl time.Duration) (context.Context, time.Duration) {
	if n < 0 {
		return context.WithoutCancel(ctx), undoTTL
	}
	return ctx, ttl
}

// sliding takes from windows that begin at multiples of Window since 1970. It adds the number of the window to the key of each bucket.
func (w windows) sliding(ctx context.Context, cost int64, buckets []Bucket) (taken bool, err error) {
	now := time.Now().UnixNano()
	return w.all(cost, buckets, func(cost int64, b *Bucket) (bool, error) {
		if cost < 0 { // b.Key is the counter that the cost was added to
			_, _, err := w.add(ctx, b.Key, cost, 0)
			b.Left = min(b.Left-cost, b.Limit)
			return err == nil, err
		}
		index, gone := now/int64(b.Window), now%int64(b.Window)
		last := b.Key + ":" + strconv.FormatInt(index-1, 10)
		b.Key += ":" + strconv.FormatInt(index, 10)
		n, _, err := w.add(ctx, b.Key, cost, 2*b.Window)
		if err != nil {
			return false, err
		}
		before, err := w.count(ctx, last)
		if err != nil {
			return false, err
		}
		s := slide{limit: b.Limit, window: int64(b.Window), gone: gone, before: before, now: n - cost}
		taken := s.estimate()+cost <= b.Limit
		if taken {
			s.now = n
		} else if _, _, err := w.add(ctx, b.Key, -cost, 0); err != nil {
			return false, err
		}
		b.RetryAfter = 0
		if !taken {
			b.RetryAfter = s.wait(cost)
		}
		b.Left, b.ResetAfter = max(b.Limit-s.estimate(), 0), s.reset()
		return taken, nil
	})
}

// count returns the number under a key, or 0 if the key is missing.
func (w windows) count(ctx context.Context, key string) (int64, error) {
	value, found, err := w.store.Get(ctx, key)
	if err != nil || !found {
		return 0, err
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, errNotNumber
	}
	return max(n, 0), nil
}

// slide is the arithmetic of a sliding window. Times are nanoseconds.
//
//	|--- before ---|--- now ---|
//	          |<- window ->|
//	               |<gone->|
type slide struct {
	limit, window int64
	gone          int64 // since the current window began
	before, now   int64 // requests in the previous and in the current window
}

// estimate returns the number of requests in the last window, rounded up.
func (s slide) estimate() int64 {
	share := float64(s.window-s.gone) / float64(s.window)
	return s.now + int64(math.Ceil(float64(s.before)*share))
}

// wait returns the time until cost more requests fit, or -1 if they never will.
func (s slide) wait(cost int64) time.Duration {
	room := s.limit - cost
	switch {
	case room < 0:
		return -1
	case s.now <= room: // when enough of the previous window has left
		return s.until(room-s.now, s.before) - time.Duration(s.gone)
	}
	return time.Duration(s.window-s.gone) + s.until(room, s.now)
}

// until returns how long after the end of a window with n requests its share is at most room.
func (s slide) until(room, n int64) time.Duration {
	return time.Duration(float64(s.window)*(1-float64(room)/float64(n))) + 1
}

// reset returns the time until no request is left in the last window.
func (s slide) reset() time.Duration {
	switch {
	case s.now > 0:
		return time.Duration(2*s.window - s.gone)
	case s.before > 0:
		return time.Duration(s.window - s.gone)
	}
	return 0
}
