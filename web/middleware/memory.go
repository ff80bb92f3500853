package middleware

import (
	"context"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// MemoryStore is a Store in the memory of one process. A MemoryStore also implements Adder, Swapper, Counter, Toucher
// and Taker.
//
// MaxBytes limits the size of a MemoryStore. If there is no room for a new value, the store drops the least recently used values. A
// store of 1 MiB or more consists of 64 shards. The hash of a key selects the shard. Each shard has its own lock, and drops its own
// least recently used values. The store has no background goroutine. An expired value takes up memory until a call reads it or the
// store drops it.
//
// The store can also drop a counter, a bucket or a key that a caller claimed with Add. The next call then treats the key as missing. A
// client that can add many values to a store can therefore make the store drop other values. Keep counters and buckets for rate limits
// in a separate MemoryStore.
//
// The zero value is ready to use. A MemoryStore may be used concurrently. Do not copy a MemoryStore.
type MemoryStore struct {
	// MaxBytes is the maximum size of all keys and values together, in bytes. For each value, the store also counts 128 bytes of
	// overhead. Zero or a negative value means 64 MiB. Do not change MaxBytes once the store is in use.
	MaxBytes int64

	once   sync.Once
	limit  int64
	start  time.Time // when the store's clock was 0
	seed   maphash.Seed
	shards []memoryShard // their number is a power of two, and at most 64

	size     atomic.Int64 // the cost of all values, as costOf counts
	dropping sync.Mutex   // guards turn; held while values of other shards are dropped
	turn     uint         // the shard that is next to drop a value
}

const (
	defaultMemory = 64 << 20
	memoryShards  = 64
	smallMemory   = 1 << 20 // a smaller store has one shard, which drops values exactly in the order of their last use
)

func (s *MemoryStore) init() {
	s.limit = s.MaxBytes
	if s.limit <= 0 {
		s.limit = defaultMemory
	}
	n := memoryShards
	if s.limit < smallMemory {
		n = 1
	}
	s.seed, s.start, s.shards = maphash.MakeSeed(), time.Now(), make([]memoryShard, n)
	for i := range s.shards {
		s.shards[i].init(&s.size)
	}
}

// now returns the time of the store's clock, in nanoseconds. The clock is monotonic.
func (s *MemoryStore) now() int64 { return int64(time.Since(s.start)) }

// never is the moment at which values without an expiry expire.
const never = math.MaxInt64

// after returns the moment ttl after now. It is never if ttl is 0 or too long for an int64.
func after(now int64, ttl time.Duration) int64 {
	if ttl == 0 || int64(ttl) > never-now {
		return never
	}
	return now + int64(ttl)
}

// at returns the index of the shard that holds the key.
func (s *MemoryStore) at(key string) int {
	s.once.Do(s.init)
	return int(maphash.String(s.seed, key) & uint64(len(s.shards)-1))
}

// lock returns the shard of the key, locked. It returns an error if ctx is done or ttl is negative.
func (s *MemoryStore) lock(ctx context.Context, key string, ttl time.Duration) (*memoryShard, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if ttl < 0 {
		return nil, errNegativeTTL
	}
	h := &s.shards[s.at(key)]
	h.mu.Lock()
	return h, nil
}

// fits reports whether a value can be stored at all.
func (s *MemoryStore) fits(key string, size int) bool { return costOf(key, size) <= s.limit }

// unlock unlocks a shard in which values may have grown, and makes room for them. It first drops values of the same shard, except the
// value that was used last, and then values of other shards.
func (s *MemoryStore) unlock(h *memoryShard) {
	h.drop(s.limit)
	h.mu.Unlock()
	s.dropElsewhere(h)
}

// dropElsewhere drops values of all shards except one until the rest fits, one value from each shard in turn. The caller must not hold
// the lock of a shard. Only one goroutine drops at a time: two would drop the values that the other one has just stored.
func (s *MemoryStore) dropElsewhere(but *memoryShard) {
	if s.size.Load() <= s.limit {
		return
	}
	s.dropping.Lock()
	defer s.dropping.Unlock()
	for empty := 0; empty < len(s.shards) && s.size.Load() > s.limit; s.turn++ {
		h := &s.shards[s.turn%uint(len(s.shards))]
		if h == but || !h.dropOne() {
			empty++
		} else {
			empty = 0
		}
	}
}

// Get implements Store.
func (s *MemoryStore) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	h, err := s.lock(ctx, key, 0)
	if err != nil {
		return nil, false, err
	}
	defer h.mu.Unlock()
	v := h.find(key, s.now())
	if v == nil {
		return nil, false, nil
	}
	return v.copied(), true, nil
}

// Set implements Store. The error is ErrValueTooLarge if the value is larger than the whole store.
func (s *MemoryStore) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	h, err := s.lock(ctx, key, ttl)
	if err != nil {
		return err
	}
	defer s.unlock(h)
	if !s.fits(key, len(value)) {
		return ErrValueTooLarge
	}
	h.set(key, value, after(s.now(), ttl))
	return nil
}

// Delete implements Store.
func (s *MemoryStore) Delete(ctx context.Context, key string) error {
	h, err := s.lock(ctx, key, 0)
	if err != nil {
		return err
	}
	defer h.mu.Unlock()
	h.remove(h.values[key])
	return nil
}
