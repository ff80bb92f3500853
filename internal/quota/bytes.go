package quota

import "sync/atomic"

// Bytes limits how much memory users hold together. Set Limit before the first use.
type Bytes struct {
	Limit int64 // 0 means no limit

	_     [64]byte // see Slots
	taken atomic.Int64
}

// Take takes n bytes for a user that has already taken some. It reports false if fewer are left. If no other user has taken
// bytes, Take permits even more than the limit. Otherwise, a user that needs more would wait forever.
func (b *Bytes) Take(n, has int64) bool {
	for {
		taken := b.taken.Load()
		if b.Limit > 0 && taken > has && n > b.Limit-taken {
			return false
		}
		if b.taken.CompareAndSwap(taken, taken+n) {
			return true
		}
	}
}

// Give gives back n bytes.
func (b *Bytes) Give(n int64) { b.taken.Add(-n) }

// Taken returns how many bytes are taken.
func (b *Bytes) Taken() int64 { return b.taken.Load() }
