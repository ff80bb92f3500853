package bufpool

import (
	"math/bits"
	"sync"
)

// MaxLen is the length of the longest slices that a Slices keeps.
const MaxLen = 1 << maxLenShift

const maxLenShift = 10

// Slices is a pool of slices whose lengths are powers of two, from 1 to [MaxLen]. Slices of other lengths are allocated on demand
// and never kept. The zero value can be used. All methods are safe for concurrent use.
type Slices[T any] struct {
	pools [maxLenShift + 1]sync.Pool // by the logarithm of the length, each slice as a pointer to its first element, see unsafe.go
}

// Get returns a slice of n zero elements.
func (s *Slices[T]) Get(n int) []T {
	if isKept(n) {
		if first, ok := s.pools[bits.TrailingZeros(uint(n))].Get().(*T); ok {
			return sliceFrom(first, n)
		}
	}
	return make([]T, n)
}

// Put takes a slice from Get, and sets its elements to zero. The caller must not use it any more, nor any part of it. A nil slice
// does nothing.
func (s *Slices[T]) Put(used []T) {
	if n := len(used); isKept(n) {
		clear(used)
		s.pools[bits.TrailingZeros(uint(n))].Put(&used[0])
	}
}

// isKept reports whether slices of this length are kept.
func isKept(n int) bool { return n > 0 && n <= MaxLen && n&(n-1) == 0 }
