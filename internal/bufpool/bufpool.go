// Package bufpool provides pools of byte buffers, sorted by size, which shrink again after a burst.
//
// A buffer belongs to a class: a power of two from [MinSize] to [MaxSize]. Each class is a sync.Pool, so a buffer
// that is unused for two garbage collections is freed. A large buffer is thus not kept in the place of small ones. A
// buffer larger than MaxSize is allocated on demand and never kept.
//
// The holder of a slice owns the buffer. [Put] and [Grow] take it away, and no view of it may be read afterwards. In
// race builds both overwrite the buffer with [Poison], so that tests notice views that are kept too long.
//
// [Slices] is a pool of slices of another type.
//
// All functions are safe for concurrent use.
package bufpool

import (
	"math/bits"
	"sync"
)

const (
	// MinSize is the capacity of the smallest buffers in bytes.
	MinSize = 1 << minShift
	// MaxSize is the capacity in bytes of the largest buffers that are kept.
	MaxSize = 1 << maxShift

	minShift = 9
	maxShift = 22
	classes  = maxShift - minShift + 1
)

// pools[c] holds buffers with a capacity of exactly MinSize<<c, each as a pointer to its first byte (see unsafe.go).
var pools [classes]sync.Pool

// Get returns an empty slice with room for at least size bytes. The bytes up to its capacity are unspecified. A size
// of zero or less counts as 1.
func Get(size int) []byte {
	if size > MaxSize {
		return make([]byte, 0, size)
	}
	c := classFor(size)
	if p, ok := pools[c].Get().(*byte); ok {
		return unpack(p, c)
	}
	return make([]byte, 0, MinSize<<c)
}

// Put returns b's array to its pool. The slice must begin where the one from Get or Grow began: b[:n] is allowed,
// b[n:] is not, because the rest of the array would then be handed out twice. An array whose capacity does not match
// a class is left to the garbage collector. A nil b does nothing.
func Put(b []byte) {
	if Poisons {
		PoisonBytes(b)
	}
	if c, ok := classOf(cap(b)); ok {
		pools[c].Put(pack(b))
	}
}

// Release puts the buffer into the pool, and nil in its place.
func Release(b *[]byte) {
	Put(*b)
	*b = nil
}

// Grow returns b with room for at least n more bytes after len(b). If b lacks that room, Grow moves its bytes to a
// buffer of at least twice the capacity and calls Put with b, which the caller then no longer owns. A nil b counts as
// empty.
func Grow(b []byte, n int) []byte {
	if n <= cap(b)-len(b) {
		return b
	}
	need := len(b) + n
	if need < 0 {
		panic("bufpool: Grow: size overflows")
	}
	grown := append(Get(max(need, 2*cap(b))), b...)
	Put(b)
	return grown
}

// classFor returns the class of the smallest buffers that hold size ≤ MaxSize bytes.
func classFor(size int) int {
	if size <= MinSize {
		return 0
	}
	return bits.Len(uint(size-1)) - minShift
}

// classOf returns the class whose buffers have exactly this capacity.
func classOf(capacity int) (c int, ok bool) {
	if capacity < MinSize || capacity > MaxSize || capacity&(capacity-1) != 0 {
		return 0, false
	}
	return bits.TrailingZeros(uint(capacity)) - minShift, true
}
