package middleware

import (
	"context"
	"time"
)

// Taker is a Store with token buckets, for rate limits. A bucket holds up to Burst tokens and is full at first. Each call takes
// tokens out, and Limit tokens come back in each Window, one by one at even intervals (the generic cell rate algorithm).
//
// The keys of buckets must not be used with other methods than Take and Delete. Delete fills a bucket.
type Taker interface {
	Store

	// Take takes cost tokens out of each of the buckets and reports whether it has. If one of them has fewer, Take takes
	// nothing from any. In both cases it sets Left, RetryAfter and ResetAfter of all buckets, unless it returns an error.
	//
	// The cost may be 0, to learn the state only, which never fails, and negative, to give tokens back. A bucket never has
	// more than Burst tokens. The keys of the buckets have to differ.
	//
	// The clock is the Store's, so that all processes that share the Store agree. Rounding never lets a client have more than
	// the limit. Take does not keep the slice.
	Take(ctx context.Context, cost int64, buckets []Bucket) (taken bool, err error)
}

// Bucket is a token bucket in a call of [Taker.Take]. Only its key and the time when it is full again are stored, so that Limit,
// Window and Burst may change from one call to the next. A bucket that is full takes up no room.
type Bucket struct {
	// Key is the name of the bucket in the Store, such as "login:203.0.113.7".
	Key string

	// Limit is how many tokens come back in each Window. It has to be positive.
	Limit int64

	// Window is the time for Limit tokens. It has to be positive. MemoryStore rounds Window/Limit up to whole nanoseconds.
	Window time.Duration

	// Burst is how many tokens the bucket holds; Limit by default. It has to come back within 73 years.
	Burst int64

	// Left is how many tokens were left by Take.
	Left int64

	// RetryAfter is how long it takes from the call of Take until this bucket has enough tokens for the same cost, rounded up.
	// It is 0 if the bucket has had enough, and negative if the cost is more than Burst.
	RetryAfter time.Duration

	// ResetAfter is how long it takes from the call of Take until the bucket is full, rounded up.
	ResetAfter time.Duration
}
