package middleware

import (
	"context"
	"time"
)

// Taker is a Store with token buckets, for rate limits. A bucket holds up to Burst tokens and is full at first. Each call of Take
// removes tokens. In each Window, Limit tokens are added again, one by one at even intervals (the generic cell rate algorithm).
//
// Use the keys of buckets only with Take and Delete. Deleting the key refills the bucket.
type Taker interface {
	Store

	// Take takes cost tokens out of each bucket and returns taken == true. If one bucket has fewer tokens, Take takes none from any
	// bucket and returns false. In both cases, Take sets Left, RetryAfter and ResetAfter in each element of buckets. If Take returns
	// an error, these fields have no meaning.
	//
	// With cost 0, Take only reads the state, and taken is true. A negative cost gives tokens back, but a bucket never has more than
	// Burst tokens. The keys of the buckets have to differ.
	//
	// Take uses the clock of the Store, so that all processes that share the Store use the same time. Rounding never gives a client
	// more than the limit. Take does not keep the slice.
	Take(ctx context.Context, cost int64, buckets []Bucket) (taken bool, err error)
}

// Bucket is a token bucket in a call of [Taker.Take]. The caller sets Key, Limit, Window and Burst, and Take sets the other fields.
// For each bucket, the Store keeps only the key and the time when the bucket will be full again. Therefore Limit, Window and Burst
// may change from one call to the next, and a full bucket takes up no memory.
type Bucket struct {
	// Key is the name of the bucket in the Store, such as "login:203.0.113.7".
	Key string

	// Limit is how many tokens are added in each Window. It has to be positive.
	Limit int64

	// Window is the time in which Limit tokens are added. It has to be positive. MemoryStore rounds Window/Limit up to whole
	// nanoseconds.
	Window time.Duration

	// Burst is how many tokens the bucket holds when it is full. Zero means Limit. A negative value is an error. An empty bucket must
	// refill within 73 years.
	Burst int64

	// Left is how many whole tokens the bucket has after Take.
	Left int64

	// RetryAfter is how long it takes from the call of Take until this bucket has enough tokens for the same cost, rounded up. It is 0
	// if the bucket already had enough tokens, and negative if the cost is higher than Burst.
	RetryAfter time.Duration

	// ResetAfter is how long it takes from the call of Take until the bucket is full, rounded up.
	ResetAfter time.Duration
}
