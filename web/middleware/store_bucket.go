package middleware

import "time"

// The arithmetic of token buckets, without a store and without a clock.
//
// A bucket is the moment when it is full again. It is that moment, and not a number of tokens, which is stored: nothing has to
// be refilled, and a bucket whose moment has passed is the same as a bucket that was never used.
//
//	full bucket          one token gone           empty bucket
//	full ≤ now           full = now + interval    full = now + Burst·interval
//
// All times are nanoseconds of one clock.

// maxBucket is the longest time in which a bucket may fill up, about 73 years. Sums of times stay in the range of int64.
const maxBucket = 1 << 61

// plan is a bucket with its settings checked.
type plan struct {
	interval int64 // until one token comes back, rounded up, so that rounding is not in the client's favor
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
	if p.burst > maxBucket/p.interval {
		return p, errBucket
	}
	return p, nil
}

// take returns when a bucket is full again after cost tokens were taken at the moment now, and how long it takes until that
// is possible: 0 if it is now, and negative if it never is. full is the moment before.
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

// show writes the state of a bucket that is full at the moment full into b.
func (p plan) show(b *Bucket, full, now int64, wait time.Duration) {
	reset := max(full-now, 0)
	b.Left = max(p.burst*p.interval-reset, 0) / p.interval
	b.RetryAfter, b.ResetAfter = wait, time.Duration(reset)
}
