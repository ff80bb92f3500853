package filetree

import "sync"

// The bounds of all trees together.
const (
	MaxBytes       = 64 << 20 // of content in memory
	MaxDescriptors = 1024     // of open files, but at most a share of what the process may open
	descriptorPart = 8        // which part that share is
)

// spent is what all trees hold together.
var spent struct {
	sync.Mutex
	bytes, descriptors int64
}

// account counts what one tree holds, so that its share is given back when the tree is gone.
type account struct {
	bytes, descriptors int64 // guarded by spent
	closed             bool  // guarded by spent
}

// reserve takes a share for more content, and reports whether there is one.
func (a *account) reserve(bytes, descriptors int64) bool {
	limit := int64(0)
	if descriptors > 0 {
		limit = min(MaxDescriptors, descriptorLimit()/descriptorPart)
	}
	spent.Lock()
	defer spent.Unlock()
	if a.closed || bytes > 0 && spent.bytes+bytes > MaxBytes || descriptors > 0 && spent.descriptors+descriptors > limit {
		return false
	}
	a.add(bytes, descriptors)
	return true
}

// release gives a share back.
func (a *account) release(bytes, descriptors int64) {
	spent.Lock()
	defer spent.Unlock()
	if !a.closed {
		a.add(-bytes, -descriptors)
	}
}

// close gives everything back.
func (a *account) close() {
	spent.Lock()
	defer spent.Unlock()
	a.add(-a.bytes, -a.descriptors)
	a.closed = true
}

// add changes the counts. The caller holds spent.
func (a *account) add(bytes, descriptors int64) {
	a.bytes += bytes
	a.descriptors += descriptors
	spent.bytes += bytes
	spent.descriptors += descriptors
}
