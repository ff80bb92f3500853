package filetree

import (
	"sync/atomic"
	"time"
)

// seen recognizes the second use of a name. It has a fixed size, so that requests for many files leave nothing. Each
// element has the upper bits of a hash and the second of the last use. A second name with the same place takes it over.
var seen [1 << 12]atomic.Uint64

// secondBits is how many bits of an element count seconds.
const secondBits = 24

// isSecondUse notes a use of the name with this hash, and reports whether it is the second one within the duration.
func isSecondUse(hash uint64, now int64, within time.Duration) bool {
	const mask = 1<<secondBits - 1
	second := uint64(now/int64(time.Second)) & mask
	place := &seen[hash%uint64(len(seen))]
	before := place.Load()
	place.Store(hash&^mask | second)
	return before&^mask == hash&^mask && (second-before)&mask <= uint64(within/time.Second)+1
}
