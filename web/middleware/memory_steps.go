package middleware

import (
	"context"
	"math/bits"
	"time"
)

var _ interface {
	Adder
	Swapper
	Counter
	Toucher
	Taker
} = (*MemoryStore)(nil)

// Add implements Adder.
func (s *MemoryStore) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (existing []byte, added bool, err error) {
	h, err := s.lock(ctx, key, ttl)
	if err != nil {
		return nil, false, err
	}
	defer s.unlock(h)
	now := s.now()
	if v := h.find(key, now); v != nil {
		return v.copied(), false, nil
	}
	if !s.fits(key, len(value)) {
		return nil, false, ErrValueTooLarge
	}
	h.set(key, value, after(now, ttl))
	return nil, true, nil
}

// CompareAndSwap implements Swapper.
func (s *MemoryStore) CompareAndSwap(ctx context.Context, key string, old, replacement []byte, ttl time.Duration) (swapped bool, err error) {
	h, err := s.lock(ctx, key, ttl)
	if err != nil {
		return false, err
	}
	defer s.unlock(h)
	now := s.now()
	if v := h.find(key, now); v == nil || !v.equals(old) {
		return false, nil
	}
	if !s.fits(key, len(replacement)) {
		return false, ErrValueTooLarge
	}
	h.set(key, replacement, after(now, ttl))
	return true, nil
}

// CompareAndDelete implements Swapper.
func (s *MemoryStore) CompareAndDelete(ctx context.Context, key string, old []byte) (deleted bool, err error) {
	h, err := s.lock(ctx, key, 0)
	if err != nil {
		return false, err
	}
	defer h.mu.Unlock()
	v := h.find(key, s.now())
	if v == nil || !v.equals(old) {
		return false, nil
	}
	h.remove(v)
	return true, nil
}

// Incr implements Counter.
func (s *MemoryStore) Incr(ctx context.Context, key string, n int64, ttl time.Duration) (value int64, left time.Duration, err error) {
	h, err := s.lock(ctx, key, ttl)
	if err != nil {
		return 0, 0, err
	}
	defer s.unlock(h)
	if !s.fits(key, maxDigits) {
		return 0, 0, ErrValueTooLarge
	}
	now := s.now()
	if v := h.find(key, now); v != nil {
		return h.add(v, n, now)
	}
	expires := after(now, ttl)
	h.setNumber(key, n, expires)
	return n, leftUntil(expires, now), nil
}

// add adds n to a number, and returns the sum and the time until it expires.
func (h *memoryShard) add(v *memoryValue, n, now int64) (sum int64, left time.Duration, err error) {
	before, ok := v.toNumber()
	if !ok {
		return 0, 0, errNotNumber
	}
	sum = before + n
	if (sum > before) != (n > 0) {
		return 0, 0, errOverflow
	}
	h.fillNumber(v, sum)
	return sum, leftUntil(v.expires, now), nil
}

// leftUntil returns the time until a value expires, or 0 if it does not expire.
func leftUntil(expires, now int64) time.Duration {
	if expires == never {
		return 0
	}
	return time.Duration(expires - now)
}

// Touch implements Toucher.
func (s *MemoryStore) Touch(ctx context.Context, key string, ttl time.Duration) (found bool, err error) {
	h, err := s.lock(ctx, key, ttl)
	if err != nil {
		return false, err
	}
	defer h.mu.Unlock()
	now := s.now()
	v := h.find(key, now)
	if v == nil {
		return false, nil
	}
	v.expires = after(now, ttl)
	return true, nil
}

// Take implements Taker.
func (s *MemoryStore) Take(ctx context.Context, cost int64, buckets []Bucket) (taken bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.once.Do(s.init)
	if len(buckets) == 1 {
		return s.takeOne(&buckets[0], cost)
	}
	if err := s.check(buckets); err != nil {
		return false, err
	}
	locked := s.lockAll(buckets)
	defer s.unlockAll(locked)
	now, taken := s.now(), true
	for i := range buckets {
		full, err := s.full(&buckets[i], now)
		if err != nil {
			return false, err
		}
		p, _ := buckets[i].plan()
		if _, wait := p.take(full, now, cost); wait != 0 {
			taken = false
		}
	}
	for i := range buckets {
		s.takeFrom(&buckets[i], now, cost, taken)
	}
	return taken, nil
}

// takeOne is Take for a single bucket.
func (s *MemoryStore) takeOne(b *Bucket, cost int64) (taken bool, err error) {
	p, err := b.plan()
	if err != nil {
		return false, err
	}
	if !s.fits(b.Key, maxDigits) {
		return false, ErrValueTooLarge
	}
	h := &s.shards[s.at(b.Key)]
	h.mu.Lock()
	defer s.unlock(h)
	now := s.now()
	if v := h.find(b.Key, now); v != nil {
		return h.take(v, p, b, now, cost)
	}
	next, wait := p.take(now, now, cost)
	if wait != 0 {
		p.show(b, now, now, wait)
		return false, nil
	}
	if next > now {
		h.setNumber(b.Key, next, next)
	}
	p.show(b, next, now, 0)
	return true, nil
}

// take takes from a bucket that is not full.
func (h *memoryShard) take(v *memoryValue, p plan, b *Bucket, now, cost int64) (taken bool, err error) {
	full, ok := v.toNumber()
	if !ok {
		return false, errNotNumber
	}
	next, wait := p.take(full, now, cost)
	if wait != 0 {
		p.show(b, full, now, wait)
		return false, nil
	}
	switch {
	case next <= now: // full, which is the same as missing
		h.remove(v)
	case next != full:
		v.expires = next
		h.fillNumber(v, next)
	}
	p.show(b, next, now, 0)
	return true, nil
}

// check returns an error if the settings of a bucket are not valid, a key is too long, or two buckets have the same key.
func (s *MemoryStore) check(buckets []Bucket) error {
	for i := range buckets {
		b := &buckets[i]
		if _, err := b.plan(); err != nil {
			return err
		}
		if !s.fits(b.Key, maxDigits) {
			return ErrValueTooLarge
		}
		for j := range buckets[:i] {
			if buckets[j].Key == b.Key {
				return errSameBucket
			}
		}
	}
	return nil
}

// full returns the moment when a bucket is full. Its shard is locked.
func (s *MemoryStore) full(b *Bucket, now int64) (int64, error) {
	v := s.shards[s.at(b.Key)].find(b.Key, now)
	if v == nil {
		return now, nil
	}
	full, ok := v.toNumber()
	if !ok {
		return 0, errNotNumber
	}
	return full, nil
}

// takeFrom sets the state of a bucket and, if taken is true, takes the cost out of it. The shard of the bucket is locked.
func (s *MemoryStore) takeFrom(b *Bucket, now, cost int64, taken bool) {
	full, _ := s.full(b, now)
	p, _ := b.plan()
	next, wait := p.take(full, now, cost)
	if !taken {
		p.show(b, full, now, wait)
		return
	}
	h := &s.shards[s.at(b.Key)]
	switch {
	case next <= now: // full, which is the same as missing
		h.remove(h.values[b.Key])
	case next != full:
		h.setNumber(b.Key, next, next)
	}
	p.show(b, next, now, 0)
}

// lockAll locks the shards of all buckets, in the same order for all calls, and returns which they are: one bit for each.
func (s *MemoryStore) lockAll(buckets []Bucket) (locked uint64) {
	for i := range buckets {
		locked |= 1 << s.at(buckets[i].Key)
	}
	for rest := locked; rest != 0; rest &= rest - 1 {
		s.shards[bits.TrailingZeros64(rest)].mu.Lock()
	}
	return locked
}

// unlockAll unlocks the shards and makes room.
func (s *MemoryStore) unlockAll(locked uint64) {
	for rest := locked; rest != 0; rest &= rest - 1 {
		h := &s.shards[bits.TrailingZeros64(rest)]
		h.drop(s.limit)
		h.mu.Unlock()
	}
	if locked != 0 {
		s.dropElsewhere(nil)
	}
}
