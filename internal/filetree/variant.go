package filetree

import (
	"io"
	"sync"
	"sync/atomic"
)

// A made variant is the original in a coding for which there is no precompressed sibling. The program makes the variant
// when a request first needs it. The variant is dropped together with its entry, so it is as fresh as the entry.

// MaxMade is the size of the largest original of which variants are made. Larger originals would keep a request waiting.
const MaxMade = 1 << 20

// MaxMaking is how many variants all trees make at a time. Each encoder holds a few megabytes.
const MaxMaking = 4

// making counts the variants that are being made.
var making atomic.Int64

// made is the place of a made variant in an entry.
type made struct {
	mu      sync.Mutex // held while the variant is made, so that only one request makes it
	variant atomic.Pointer[Variant]
}

// Make returns the variant of a slot without a sibling. The first call makes the variant with Loader.Encode, and concurrent
// calls wait for the result. If encoding is not worthwhile, the variant has Absent set. Make returns nil if the
// variant cannot be made now, and the caller has to do without.
//
// If there is no room for the variant within the bounds, only this caller gets it.
func (t *Tree) Make(e *Entry, slot int) *Variant {
	m := &e.made[slot]
	if v := m.variant.Load(); v != nil {
		return v
	}
	original := e.variants[0].Load()
	if original == nil || original.Size > MaxMade {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.variant.Load(); v != nil {
		return v
	}
	defer making.Add(-1)
	if making.Add(1) > MaxMaking {
		return nil
	}
	data, ok := original.content()
	if !ok {
		return nil
	}
	v := t.loader.Encode(original, slot, data)
	t.keepMade(e, m, v)
	return v
}

// content returns the bytes of a variant, and reports whether they are those of its version.
func (v *Variant) content() ([]byte, bool) {
	if v.Shared == nil {
		return v.Data, true
	}
	if !v.Shared.Enter() {
		return nil, false
	}
	defer v.Shared.Close()
	data := make([]byte, v.Size)
	if _, err := io.ReadFull(io.NewSectionReader(v.Shared.File, 0, v.Size), data); err != nil {
		return nil, false
	}
	info, err := v.Shared.File.Stat()
	if err != nil {
		return nil, false
	}
	now, _ := versionOf(info)
	return data, now == v.version
}

// keepMade stores a made variant in its entry, if the bounds have room for it and the entry is still in use.
func (t *Tree) keepMade(e *Entry, m *made, v *Variant) {
	size := int64(len(v.Data))
	if !t.reserve(size, 0) { // which may remove the entry
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		t.spent.release(size, 0)
		return
	}
	m.variant.Store(v)
}
