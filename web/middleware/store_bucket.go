package middleware

import (
	"math/bits"
	"time"
)

// The arithmetic of token buckets, without a store and without a clock.
//
// A bucket is stored as the moment when it is full again, not as a number of tokens. So nothing has to be refilled, and a bucket
// whose moment has passed is the same as a bucket that was never used.
//
//	full bucket          one token gone           empty bucket
//	full ≤ now           full = now + interval    full = now + Burst·interval
//
// All times are nanoseconds of one clock.

// maxBucket is the longest time in which a bucket may fill up, about 73 years. Sums of times stay in the range of int64.
const maxBucket = 1 << 61

// plan is the checked settings of a bucket.
type plan struct {
	interval int64 // the time until one token comes back, rounded up so that rounding does not favor the client
	burst    int64
}

// plan checks the settings of a bucket.
func (b *Bucket) plan() (p plan, err error) {
	if b.Limit <= 0 || b.Window <= 0 || b.Burst < 0 {
		return p, errBucket
	}
	p.interval = (int64(b.Window)-1)/b.Limit + 1
	if p.burst = b.Burst; p.burst == 0 {
		p.burst = b.Limit
	}
	if high, whole := bits.Mul64(uint64(p.burst), uint64(p.interval)); high > 0 || whole > maxBucket {
		return p, errBucket
	}
	return p, nil
}

// take takes cost tokens at the moment now out of a bucket that is full at the moment full. next is when the bucket is full again.
// wait is how long the caller has to wait until the bucket has enough tokens: 0 if it has them now, negative if it never will.
func (p plan) take(full, now, cost int64) (next int64, wait time.Duration) {
	full = max(full, now)
	switch {
	case cost > p.burst:
		return full, -1
	case cost <= -p.burst:
		return now, 0
	}
	next = max(full+cost*p.interval, now)
	if cost > 0 {
		wait = time.Duration(max(next-now-p.burst*p.interval, 0))
	}
	return next, wait
}

// show sets Left, RetryAfter and ResetAfter of b, a bucket that is full at the moment full.
func (p plan) show(b *Bucket, full, now int64, wait time.Duration) {
	reset := max(full-now, 0)
	b.Left = max(p.burst*p.interval-reset, 0) / p.interval
	b.RetryAfter, b.ResetAfter = wait, time.Duration(reset)
}
