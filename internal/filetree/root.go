package filetree

import (
	"io/fs"
	"os"
	"sync/atomic"
)

// root is an open directory. It is closed when nobody uses it any more.
type root struct {
	*os.Root
	info    fs.FileInfo  // of a root that is kept
	users   atomic.Int64 // the views, and the tree if it keeps the root; the root is closed at 0
	checked atomic.Int64 // when the path was last compared with the root
	recent  atomic.Bool  // used since the last sweep
	idle    int          // sweeps since the last use; guarded by the lock of the tree
}

// openRoot opens a directory for one user.
func openRoot(path string) (*root, error) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	r := &root{Root: dir}
	r.users.Store(1)
	return r, nil
}

// enter adds a user. It reports false if the root is closed.
func (r *root) enter() bool { return enter(&r.users) }

// leave removes a user.
func (r *root) leave() {
	if r.users.Add(-1) == 0 {
		r.Close()
	}
}

// current returns the directory that is at the path of the tree now, for one user. The tree keeps the directory open
// from its second use on. The tree of a program that makes a tree for each request therefore keeps nothing.
func (t *Tree) current() (*root, error) {
	if r := t.kept.Load(); r != nil && r.enter() {
		if t.isCurrent(r) {
			return r, nil
		}
		t.replaceRoot(r)
		r.leave()
	}
	r, err := openRoot(t.base)
	if err == nil && keepsOpen && t.used.Swap(true) {
		t.keepRoot(r)
	}
	return r, err
}

// isCurrent reports whether r is still at the path of the tree. It asks the system if that is due.
func (t *Tree) isCurrent(r *root) bool {
	if !r.recent.Load() {
		r.recent.Store(true)
	}
	if !t.isDue(&r.checked) {
		return true
	}
	info, err := os.Stat(t.base)
	return err == nil && os.SameFile(info, r.info)
}

// keepRoot makes the tree a user of r, unless the tree has a root.
func (t *Tree) keepRoot(r *root) {
	info, err := r.Stat(".")
	if err != nil {
		return
	}
	r.info = info
	r.checked.Store(clock())
	r.recent.Store(true)
	r.enter()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.kept.CompareAndSwap(nil, r) {
		r.leave()
		return
	}
	t.arm()
}

// isUsed reports whether the root was used within the last sweeps.
func (r *root) isUsed() bool {
	if r.recent.Swap(false) {
		r.idle = 0
	}
	r.idle++
	return r.idle <= sweeps
}
