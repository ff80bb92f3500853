package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Add implements [middleware.Adder].
func (s *Store) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (existing []byte, added bool, err error) {
	if err := begin(ctx, ttl); err != nil {
		return nil, false, err
	}
	arguments := []any{"set", s.prefix + key, value, "nx", "get"}
	if ttl > 0 {
		arguments = append(arguments, "px", milliseconds(ttl))
	}
	text, err := s.client.Do(ctx, arguments...).Text()
	switch {
	case err == redis.Nil:
		return nil, true, nil
	case err != nil:
		return nil, false, err
	}
	return []byte(text), false, nil
}

// The scripts. A ttl of 0 means no expiry.
var (
	swapScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '0' then
	redis.call('SET', KEYS[1], ARGV[2])
else
	redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
return 1`)

	deleteScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`)

	// GET returns the sum as text. As a number, Lua would round it.
	incrScript = redis.NewScript(`
local new = redis.call('EXISTS', KEYS[1]) == 0
redis.call('INCRBY', KEYS[1], ARGV[1])
if new and ARGV[2] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])}`)

	touchScript = redis.NewScript(`
if ARGV[1] ~= '0' then return redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
redis.call('PERSIST', KEYS[1])
return redis.call('EXISTS', KEYS[1])`)
)

// run runs a script for one key, whose reply is 0 or 1.
func (s *Store) run(ctx context.Context, script *redis.Script, key string, ttl time.Duration, arguments ...any) (bool, error) {
	if err := begin(ctx, ttl); err != nil {
		return false, err
	}
	n, err := script.Run(ctx, s.client, []string{s.prefix + key}, arguments...).Int()
	return n == 1, err
}

// CompareAndSwap implements [middleware.Swapper].
func (s *Store) CompareAndSwap(ctx context.Context, key string, old, replacement []byte, ttl time.Duration) (swapped bool, err error) {
	return s.run(ctx, swapScript, key, ttl, old, replacement, milliseconds(ttl))
}

// CompareAndDelete implements [middleware.Swapper].
func (s *Store) CompareAndDelete(ctx context.Context, key string, old []byte) (deleted bool, err error) {
	return s.run(ctx, deleteScript, key, 0, old)
}

// Touch implements [middleware.Toucher].
func (s *Store) Touch(ctx context.Context, key string, ttl time.Duration) (found bool, err error) {
	return s.run(ctx, touchScript, key, ttl, milliseconds(ttl))
}

// Incr implements [middleware.Counter].
func (s *Store) Incr(ctx context.Context, key string, n int64, ttl time.Duration) (value int64, left time.Duration, err error) {
	if err := begin(ctx, ttl); err != nil {
		return 0, 0, err
	}
	reply, err := incrScript.Run(ctx, s.client, []string{s.prefix + key}, n, milliseconds(ttl)).Slice()
	if err != nil {
		return 0, 0, err
	}
	if len(reply) != 2 {
		return 0, 0, errReply
	}
	text, _ := reply[0].(string)
	rest, _ := reply[1].(int64)
	if value, err = strconv.ParseInt(text, 10, 64); err != nil {
		return 0, 0, errReply
	}
	switch {
	case rest == 0: // less than a millisecond
		left = time.Millisecond
	case rest > 0:
		left = time.Duration(rest) * time.Millisecond
	}
	return value, left, nil
}
