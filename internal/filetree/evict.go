package filetree

import (
	"hash/maphash"
	"sync/atomic"
	"time"
	"weak"
)

// reserve takes a share of the bounds of the process. If there is none, other entries of the tree make room.
func (t *Tree) reserve(bytes, descriptors int64) bool {
	helps := func(e *Entry) bool {
		hasBytes, hasDescriptors := e.holds()
		return bytes > 0 && hasBytes || descriptors > 0 && hasDescriptors
	}
	for !t.spent.reserve(bytes, descriptors) {
		t.mu.Lock()
		ok := t.evict(helps)
		t.mu.Unlock()
		if !ok {
			return false
		}
	}
	return true
}

// evict removes an entry for which helps returns true and that was not used recently. It reports false if there is none.
// The caller holds the lock.
func (t *Tree) evict(helps func(*Entry) bool) bool {
	places := t.table.Load()
	for range 2 * buckets * ways {
		place := &places[t.hand/ways%buckets][t.hand%ways]
		t.hand++
		if e := place.Load(); e != nil && helps(e) && !e.recent.Swap(false) && t.remove(place, e) {
			return true
		}
	}
	return false
}

// evictFrom makes room in a bucket. The caller holds the lock.
func (t *Tree) evictFrom(bucket *[ways]atomic.Pointer[Entry]) *atomic.Pointer[Entry] {
	for range 2 {
		for i := range bucket {
			e := bucket[i].Load()
			if e == nil || !e.recent.Swap(false) && t.remove(&bucket[i], e) {
				return &bucket[i]
			}
		}
	}
	return nil
}

// remove takes an entry out of its place and gives its content back. It leaves an entry that is being loaded. The caller
// holds the lock.
func (t *Tree) remove(place *atomic.Pointer[Entry], e *Entry) bool {
	if !e.mu.TryLock() {
		return false
	}
	defer e.mu.Unlock()
	place.Store(nil)
	t.entries--
	e.close(t.spent)
	return true
}

// close gives the content of an entry back. The caller holds the lock of the entry.
func (e *Entry) close(to *account) {
	if e.gone {
		return
	}
	e.gone = true
	for i := range e.variants {
		if v := e.variants[i].Load(); v != nil {
			v.release(to)
		}
		if v := e.made[i].variant.Load(); v != nil {
			v.release(to)
		}
	}
}

// Drop forgets an entry that differs from the disk.
func (t *Tree) Drop(e *Entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.close(t.spent)
	t.mu.Lock()
	defer t.mu.Unlock()
	bucket := &t.table.Load()[maphash.String(t.seed, e.name)%buckets]
	for i := range bucket {
		if bucket[i].CompareAndSwap(e, nil) {
			t.entries--
		}
	}
}

// replaceRoot stops using a root that is not at its path any more. It forgets the files of the root. An entry that is
// being loaded stays for a while, but Lookup does not return it.
func (t *Tree) replaceRoot(r *root) {
	if !t.kept.CompareAndSwap(r, nil) {
		return
	}
	r.leave()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeIf(func(e *Entry) bool { return e.root == r })
}

// removeIf removes the entries for which f returns true. The caller holds the lock.
func (t *Tree) removeIf(f func(*Entry) bool) {
	places := t.table.Load()
	if places == nil {
		return
	}
	for i := range places {
		for j := range places[i] {
			if e := places[i][j].Load(); e != nil && f(e) {
				t.remove(&places[i][j], e)
			}
		}
	}
}

// arm makes sure that a sweep follows. The timer does not keep the tree alive. The caller holds the lock.
func (t *Tree) arm() {
	if t.armed {
		return
	}
	t.armed = true
	tree := weak.Make(t)
	time.AfterFunc(max(t.keep/sweeps, time.Millisecond), func() {
		if t := tree.Value(); t != nil {
			t.sweep()
		}
	})
}

// sweep removes entries that were not used for a while, and then closes a root that was not used for a while.
func (t *Tree) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = false
	if t.entries > 0 {
		t.removeIf(func(e *Entry) bool { return !e.isUsed() })
	}
	r := t.kept.Load()
	if r != nil && !r.isUsed() && t.entries == 0 && t.kept.CompareAndSwap(r, nil) {
		r.leave()
		r = nil
	}
	if t.entries > 0 || r != nil {
		t.arm()
	}
}

// isUsed reports whether the entry was used within the last sweeps.
func (e *Entry) isUsed() bool {
	if e.recent.Swap(false) {
		e.idle = 0
	}
	e.idle++
	return e.idle <= sweeps
}
