// Package bufpool lends byte buffers out of pools sorted by size, pools that
// become small again after a burst.
//
// A buffer belongs to a class: a power of two from [MinSize] to [MaxSize]. Every
// class is a sync.Pool, so what nobody asked for during two collections of
// garbage is given back to the runtime, and a request of 900 KiB that comes once
// a day does not stay in the place of 4 KiB for the rest of it. A buffer over
// MaxSize is allocated when asked for and never kept.
//
// The rule for callers: whoever holds the slice owns the buffer, [Put] and [Grow]
// take it away, and no view of it may be read afterwards. In race builds both
// overwrite what they take with [Poison], so that a view kept too long shows in
// tests.
//
// All functions are safe for concurrent use.
package bufpool

import (
	"math/bits"
	"sync"
)

const (
	// MinSize is the capacity of the smallest buffers.
	MinSize = 1 << minShift
	// MaxSize is the capacity of the largest buffers that are kept.
	MaxSize = 1 << maxShift

	minShift = 9
	maxShift = 20
	classes  = maxShift - minShift + 1
)

// pools[c] holds buffers with a capacity of exactly MinSize<<c, each as the
// pointer to its first byte (see unsafe.go).
var pools [classes]sync.Pool

// Get returns an empty slice with room for at least size bytes. What the bytes
// up to its capacity hold is unspecified. A size of zero or less is as good as 1.
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

// Put takes b's array back. The slice must begin where the one from Get or Grow
// did: b[:n] is good, b[n:] is not, because the rest of the array would then be
// lent out twice. An array whose capacity is not that of a class is left to the
// garbage collector; nil does nothing.
func Put(b []byte) {
	if Poisons {
		PoisonBytes(b)
	}
	if c, ok := classOf(cap(b)); ok {
		pools[c].Put(pack(b))
	}
}

// Grow returns b with room for at least n more bytes behind len(b). Where b has
// not got that room its bytes move to a buffer of at least twice the capacity
// and b is Put; b is then no longer the caller's. A nil b is an empty one.
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
