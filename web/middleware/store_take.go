package middleware

import (
	"context"
	"time"
)

// Taker is a Store with token buckets, for rate limits. A bucket holds at most Burst tokens, and a new bucket is full. Each call of
// Take removes tokens. The Store adds Limit tokens per Window, one token at a time at even intervals (the generic cell rate
// algorithm).
//
// Pass the key of a bucket only to Take and Delete. Delete refills the bucket.
type Taker interface {
	Store

	// Take removes tokens from each bucket and returns taken == true. The argument cost is the number of tokens to remove. If any
	// bucket has too few tokens, Take removes no tokens and returns taken == false. Each call sets the fields Left, RetryAfter and
	// ResetAfter of every [Bucket] in the slice. If Take returns an error, ignore these fields.
	//
	// With a cost of 0, Take only reads the buckets and returns taken == true. With a negative cost, Take adds tokens to each
	// bucket, up to Burst. Each bucket must have a different key.
	//
	// Take uses the clock of the Store, so all processes that share the Store use the same time. Rounding never gives a client more
	// tokens than Limit allows. Take does not keep the slice of buckets.
	Take(ctx context.Context, cost int64, buckets []Bucket) (taken bool, err error)
}

// Bucket describes a token bucket for [Taker.Take]. The caller sets Key, Limit, Window and Burst. Take sets Left, RetryAfter and
// ResetAfter. For each bucket, the Store keeps only the key and the time when the bucket will be full again. You may change
// Limit, Window and Burst from one call to the next. A full bucket takes up no memory.
type Bucket struct {
	// Key is the name of the bucket in the Store, such as "login:203.0.113.7".
	Key string

	// Limit is the number of tokens that the Store adds in each Window. Limit must be positive.
	Limit int64

	// Window is the time in which the Store adds Limit tokens. Window must be positive. MemoryStore rounds Window/Limit up to
	// whole nanoseconds.
	Window time.Duration

	// Burst is the number of tokens in a full bucket. Zero means Limit. A negative value is an error. Take returns an error if an
	// empty bucket would need more than 73 years to become full.
	Burst int64

	// Left is the number of whole tokens in the bucket after Take.
	Left int64

	// RetryAfter is how long the caller must wait until the bucket has enough tokens, rounded up. RetryAfter is 0 if the bucket
	// had enough tokens. RetryAfter is negative if even a full bucket would have too few tokens.
	RetryAfter time.Duration

	// ResetAfter is the time until the bucket is full, rounded up.
	ResetAfter time.Duration
}
