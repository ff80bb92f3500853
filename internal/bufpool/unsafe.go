package bufpool

import "unsafe"

// A pool keeps a buffer as the pointer to its first byte, because a pointer goes
// into an interface without an allocation and a slice does not. That is legal
// since the pointer keeps the whole array alive, and since the length that it
// lost is known: pools[c] holds only arrays of which at least MinSize<<c bytes
// follow the pointer, which classOf saw in their capacity before Put stored them.

func pack(b []byte) *byte { return unsafe.SliceData(b) }

func unpack(p *byte, class int) []byte { return unsafe.Slice(p, MinSize<<class)[:0] }
