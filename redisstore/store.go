// Package redisstore keeps the data of middleware in Redis, so that several processes can share it: rate limits, idempotency keys,
// sessions.
//
//	client := redis.NewUniversalClient(redisstore.Options("localhost:6379"))
//	store := redisstore.New(client)
//	app.Use(middleware.Limiter{Store: store, Name: "api"})
//
// The package needs Redis 7.0 or later, or Valkey. It works with a single server, with Sentinel and with a cluster.
//
// Source files:
//
//	store.go     Store: keys and values
//	steps.go     atomic steps: Adder, Swapper, Counter, Toucher
//	take.go      token buckets: Taker
package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
	"github.com/redis/go-redis/v9"
)

// Store is a [middleware.Store] in Redis. A Store also implements Adder, Swapper, Counter, Toucher and Taker. A Store may be used
// concurrently. Make a Store with [New].
//
// If Redis cannot be reached, each method returns an error. How long a method waits depends on the timeouts of the client: see
// [Options]. If Redis evicts keys, it forgets rate limits and idempotency keys. Use the policy noeviction or a database with enough
// memory.
type Store struct {
	client redis.UniversalClient
	prefix string
}

var _ interface {
	middleware.Adder
	middleware.Swapper
	middleware.Counter
	middleware.Toucher
	middleware.Taker
} = (*Store)(nil)

// New returns a Store that uses a client. The caller closes the client after the last use of the Store. All keys in Redis begin with
// the prefix "gallop:". To separate applications that share a database, use [NewWithPrefix].
func New(client redis.UniversalClient) *Store { return NewWithPrefix(client, "gallop:") }

// NewWithPrefix returns a Store whose keys in Redis begin with a prefix. In a cluster, a prefix with a part in braces, such as
// "{app}:", keeps all keys on one node.
func NewWithPrefix(client redis.UniversalClient, prefix string) *Store { return &Store{client, prefix} }

// Options returns options for a client, with timeouts that suit middleware. A request should fail quickly if Redis is slow, instead of
// waiting for seconds as with the defaults of go-redis. If you pass several addresses, the client connects to a cluster. For Sentinel,
// pass the addresses of the sentinels and set MasterName.
func Options(addrs ...string) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:                 addrs,
		DialTimeout:           time.Second,
		ReadTimeout:           250 * time.Millisecond,
		WriteTimeout:          250 * time.Millisecond,
		PoolTimeout:           500 * time.Millisecond,
		DialerRetries:         1,
		MaxRetries:            1,
		ContextTimeoutEnabled: true,
	}
}

var (
	errNegativeTTL = errors.New("redisstore: ttl is negative")
	errReply       = errors.New("redisstore: Redis sent an unexpected reply")
)

// begin checks the arguments that many methods have.
func begin(ctx context.Context, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ttl < 0 {
		return errNegativeTTL
	}
	return nil
}

// milliseconds returns a positive ttl in milliseconds, rounded up, and 0 for 0. Redis rounds the current time down, so a key would expire up to
// one millisecond early without the last millisecond.
func milliseconds(ttl time.Duration) int64 {
	if ttl == 0 {
		return 0
	}
	return int64((ttl-1)/time.Millisecond) + 2
}

// Get implements [middleware.Store].
func (s *Store) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	if err := begin(ctx, 0); err != nil {
		return nil, false, err
	}
	value, err = s.client.Get(ctx, s.prefix+key).Bytes()
	if err == redis.Nil {
		return nil, false, nil
	}
	return value, err == nil, err
}

// Set implements [middleware.Store].
func (s *Store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := begin(ctx, ttl); err != nil {
		return err
	}
	arguments := []any{"set", s.prefix + key, value}
	if ttl > 0 {
		arguments = append(arguments, "px", milliseconds(ttl))
	}
	return s.client.Do(ctx, arguments...).Err()
}

// Delete implements [middleware.Store].
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := begin(ctx, 0); err != nil {
		return err
	}
	return s.client.Del(ctx, s.prefix+key).Err()
}
