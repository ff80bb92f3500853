package middleware

import (
	"bytes"
	"container/list"
	"context"
	"sync"
	"time"
)

// MemoryStore is a Store in memory. It is bounded: where there is no room for a value, those go that were not used for the
// longest time. Expired ones take up room until they are found, or go that way; there is no goroutine.
//
// The zero value is ready to use. It must not be copied.
type MemoryStore struct {
	// MaxBytes is how much keys and values may take up, with 128 bytes for each; 64 MiB by default. It must not be
	// changed once the store is in use.
	MaxBytes int

	mu     sync.Mutex
	values map[string]*list.Element // of *memoryValue
	recent list.List                // the one used last first
	size   int                      // of all, as cost has it
}

type memoryValue struct {
	key     string
	value   []byte
	expires time.Time // zero: never
}

const (
	defaultMemory  = 64 << 20
	memoryOverhead = 128 // bytes for each value
)

func (v *memoryValue) cost() int { return len(v.key) + len(v.value) + memoryOverhead }

func (v *memoryValue) expired(now time.Time) bool {
	return !v.expires.IsZero() && !now.Before(v.expires)
}

// Get implements Store.
func (s *MemoryStore) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.values[key]
	if e == nil {
		return nil, nil
	}
	v := e.Value.(*memoryValue)
	if v.expired(time.Now()) {
		s.remove(e)
		return nil, nil
	}
	s.recent.MoveToFront(e)
	return append(make([]byte, 0, len(v.value)), v.value...), nil // not nil, also of nothing
}

// Set implements Store. It fails with ErrTooLarge for what is larger than the whole store.
func (s *MemoryStore) Set(_ context.Context, key string, value []byte, ttl time.Duration) error {
	v := &memoryValue{key: key, value: bytes.Clone(value)}
	if ttl > 0 {
		v.expires = time.Now().Add(ttl)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.MaxBytes
	if limit <= 0 {
		limit = defaultMemory
	}
	if v.cost() > limit {
		return ErrTooLarge
	}
	if old := s.values[key]; old != nil {
		s.remove(old)
	}
	for s.size+v.cost() > limit {
		s.remove(s.recent.Back())
	}
	if s.values == nil {
		s.values = map[string]*list.Element{}
	}
	s.values[key] = s.recent.PushFront(v)
	s.size += v.cost()
	return nil
}

// Delete implements Store.
func (s *MemoryStore) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.values[key]; e != nil {
		s.remove(e)
	}
	return nil
}

func (s *MemoryStore) remove(e *list.Element) {
	v := s.recent.Remove(e).(*memoryValue)
	delete(s.values, v.key)
	s.size -= v.cost()
}
