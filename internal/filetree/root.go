package filetree

import (
	"io/fs"
	"os"
	"sync/atomic"
)

// root is an open directory. It is closed when nobody uses it any more.
type root struct {
	*os.Root
	info  fs.FileInfo  // of a root that is kept
	users atomic.Int64 // the views, and the tree if it keeps the root; the root is closed at 0
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
func (r *root) enter() bool {
	for {
		n := r.users.Load()
		if n == 0 {
			return false
		}
		if r.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

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
		if info, err := os.Stat(t.base); err == nil && os.SameFile(info, r.info) {
			return r, nil
		}
		t.drop(r)
		r.leave()
	}
	r, err := openRoot(t.base)
	if err == nil && t.used.Swap(true) {
		t.keep(r)
	}
	return r, err
}

// keep makes the tree a user of r, unless the tree has a root.
func (t *Tree) keep(r *root) {
	info, err := r.Stat(".")
	if err != nil {
		return
	}
	r.info = info
	r.enter()
	if !t.kept.CompareAndSwap(nil, r) {
		r.leave()
	}
}

// drop ends the use of r by the tree.
func (t *Tree) drop(r *root) {
	if t.kept.CompareAndSwap(r, nil) {
		r.leave()
	}
}
