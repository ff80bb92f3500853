package middleware

import (
	"context"
	"hash/maphash"
	"time"
)

// Limiter and Idempotency build the key of a request in memory that they use again. The methods below look such a key up without making a
// string of it, and read the value without allocating. Most keys are known. If a key is not, the exported method stores it.

// known returns the value of a key and its shard, locked. If ctx is done or the key is missing, v is nil, and nothing is locked.
func (s *MemoryStore) known(ctx context.Context, key []byte) (h *memoryShard, v *memoryValue, now int64) {
	if ctx.Err() != nil {
		return nil, nil, 0
	}
	s.once.Do(s.init)
	h = &s.shards[maphash.Bytes(s.seed, key)&uint64(len(s.shards)-1)] // the same as for a string
	h.mu.Lock()
	now = s.now()
	if v = h.live(h.values[string(key)], now); v == nil {
		h.mu.Unlock()
		return nil, nil, 0
	}
	return h, v, now
}

// addKnown is Add. It appends an existing value to room.
func (s *MemoryStore) addKnown(ctx context.Context, key, value []byte, ttl time.Duration, room []byte) (existing []byte, added bool, err error) {
	h, v, _ := s.known(ctx, key)
	if v == nil {
		return s.Add(ctx, string(key), value, ttl)
	}
	defer h.mu.Unlock()
	return v.appendTo(room), false, nil
}

// incrKnown is Incr.
func (s *MemoryStore) incrKnown(ctx context.Context, key []byte, n int64, ttl time.Duration) (value int64, left time.Duration, err error) {
	h, v, now := s.known(ctx, key)
	if v == nil {
		return s.Incr(ctx, string(key), n, ttl)
	}
	defer h.mu.Unlock()
	return h.add(v, n, now)
}

// takeKnown is Take for one bucket. It uses key instead of b.Key.
func (s *MemoryStore) takeKnown(ctx context.Context, cost int64, key []byte, b *Bucket) (taken bool, err error) {
	p, err := b.plan()
	if err != nil {
		return false, err
	}
	h, v, now := s.known(ctx, key)
	if v == nil {
		one := [1]Bucket{*b}
		one[0].Key = string(key)
		taken, err = s.Take(ctx, cost, one[:])
		b.Left, b.RetryAfter, b.ResetAfter = one[0].Left, one[0].RetryAfter, one[0].ResetAfter
		return taken, err
	}
	defer h.mu.Unlock()
	return h.take(v, p, b, now, cost)
}
