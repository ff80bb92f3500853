package middleware

import (
	"context"
	"time"
)

// Taker is a Store with token buckets, for rate limits. A bucket holds at most Burst tokens, and a new bucket is full. Each call of
// Take removes tokens. The Store adds Limit tokens per Window, one by one at even intervals (the generic cell rate algorithm).
//
// Use the keys of buckets only with Take and Delete. Delete refills the bucket.
type Taker interface {
	Store

	// Take removes cost tokens from each bucket and returns taken == true. If any bucket has fewer than cost tokens, Take takes no
	// tokens from any bucket and returns false. In both cases, Take sets Left, RetryAfter and ResetAfter in each element of buckets.
	// If Take returns an error, these fields have no meaning.
	//
	// If cost is 0, Take only reads the state, and taken is true. A negative cost gives tokens back, but a bucket never has more than
	// Burst tokens. No two buckets may have the same key.
	//
	// Take uses the clock of the Store, so that all processes that share the Store use the same time. Rounding never gives a client
	// more tokens than Limit allows. Take does not keep the slice buckets.
	Take(ctx context.Context, cost int64, buckets []Bucket) (taken bool, err error)
}

// Bucket is a token bucket in a call of [Taker.Take]. The caller sets Key, Limit, Window and Burst, and Take sets Left, RetryAfter
// and ResetAfter. For each bucket, the Store keeps only the key and the time when the bucket will be full again. You may therefore
// change Limit, Window and Burst from one call to the next. A full bucket takes up no memory.
type Bucket struct {
	// Key is the name of the bucket in the Store, such as "login:203.0.113.7".
	Key string

	// Limit is how many tokens the Store adds in each Window. It must be positive.
	Limit int64

	// Window is the time in which the Store adds Limit tokens. It must be positive. MemoryStore rounds Window/Limit up to whole
	// nanoseconds.
	Window time.Duration

	// Burst is how many tokens the bucket holds when it is full. Zero means Limit. A negative value is an error. An empty bucket must
	// be full again within 73 years.
	Burst int64

	// Left is how many whole tokens the bucket has after Take.
	Left int64

	// RetryAfter is the time from the call of Take until this bucket has enough tokens for the cost, rounded up. It is 0 if the bucket had enough
	// tokens, and negative if cost is higher than Burst.
	RetryAfter time.Duration

	// ResetAfter is the time from the call of Take until the bucket is full, rounded up.
	ResetAfter time.Duration
}
