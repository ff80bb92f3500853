package middleware

import (
	"slices"
	"sync"
	"time"
)

const (
	// deniedTime is how long a Limiter remembers that the Store has refused a client. A client that has less time to wait is not
	// remembered.
	deniedTime = time.Second

	maxDenied = 4096 // clients that a Limiter remembers at once
)

// denials remembers which clients the Store has refused, so that a client that sends many requests does not make as many requests to the
// Store. The nil denials remembers nothing.
//
// As long as only time changes the buckets, no client is refused when the Store would allow its request. The buckets can also change
// because somebody deletes them or changes the limits. That is why denials forgets after deniedTime, even if the client has to wait for
// hours.
type denials struct {
	mu sync.Mutex
	of map[string]denial // by the key of the first bucket
}

// denial is the response of the Store.
type denial struct {
	asked   time.Time // just before the Store was asked, so no later than its response
	cost    int64
	buckets []Bucket
}

// newDenials returns the denials of a Limiter, or nil if a refused request may succeed before its RetryAfter has passed:
//
//   - A Refund can make room at any time.
//   - SlidingWindow counts a request for a moment, even if it then refuses the request. So does FixedWindow. With several Rates or costs,
//     another request of the client can be refused only because of that moment.
//
// A MemoryStore responds as fast as denials.
func (l *limiter) newDenials() *denials {
	_, inMemory := l.Store.(*MemoryStore)
	exact := l.Algorithm == TokenBucket || l.Algorithm == FixedWindow && len(l.Rates) == 1 && l.Cost == nil
	if inMemory || !exact || l.Refund != nil {
		return nil
	}
	return &denials{of: map[string]denial{}}
}

// add remembers the response of the Store to a request that it has refused.
func (d *denials) add(cost int64, asked time.Time, buckets []Bucket) {
	if d == nil || !slices.ContainsFunc(buckets, func(b Bucket) bool { return b.RetryAfter >= deniedTime }) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := buckets[0].Key
	if _, known := d.of[key]; !known && len(d.of) >= maxDenied {
		for other := range d.of {
			delete(d.of, other)
			break
		}
	}
	d.of[key] = denial{asked, cost, slices.Clone(buckets)}
}

// find reports whether the Store is known to refuse a request, and sets the state of the buckets. A request with a smaller cost than the
// one that was refused may succeed.
func (d *denials) find(cost int64, buckets []Bucket) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	denied, ok := d.of[buckets[0].Key]
	if !ok || cost < denied.cost {
		return false
	}
	gone := time.Since(denied.asked)
	if gone >= deniedTime {
		delete(d.of, buckets[0].Key)
		return false
	}
	for i := range buckets {
		then, b := &denied.buckets[i], &buckets[i]
		b.Left, b.ResetAfter, b.RetryAfter = then.Left, max(then.ResetAfter-gone, 0), then.RetryAfter
		if then.RetryAfter > 0 {
			b.RetryAfter = max(then.RetryAfter-gone, 0)
		}
	}
	return true
}
