package bufpool

import "unsafe"

// A pool keeps a buffer as a pointer to its first byte, because a pointer fits into an interface without an
// allocation and a slice does not. This is legal because the pointer keeps the whole array alive, and because the
// lost length is known: Put stores an array in pools[c] only after classOf found a capacity of exactly MinSize<<c.

func pack(b []byte) *byte { return unsafe.SliceData(b) }

func unpack(p *byte, class int) []byte { return unsafe.Slice(p, MinSize<<class)[:0] }

// sliceFrom returns the slice of n elements whose first one Slices.Put has stored.
func sliceFrom[T any](first *T, n int) []T { return unsafe.Slice(first, n) }
