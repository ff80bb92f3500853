package middleware

import (
	"context"
	"time"
)

// Store keeps values for a while, for sessions and whatever else outlives a request. Any number of goroutines may use
// it at once. MemoryStore is one for a single process.
type Store interface {
	// Get returns the value of a key, nil without an error if there is none, or it has expired. The value is the
	// caller's.
	Get(ctx context.Context, key string) ([]byte, error)

	// Set keeps a copy of the value, in place of the one that the key has. It expires after ttl, and if that is
	// not positive, when the store decides so.
	Set(ctx context.Context, key string, value []byte, ttl time.Duration) error

	// Delete forgets the key. That there is none is no error.
	Delete(ctx context.Context, key string) error
}
