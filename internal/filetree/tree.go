// Package filetree opens the files of a directory or of a file system. It opens only regular files and directories, and
// it never waits for a pipe.
package filetree

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Tree is where files come from. Make one with Below, Host or Of.
type Tree struct {
	kind kind
	base string // the path of the directory; a host tree may have none
	fsys fs.FS
	err  error // why the tree cannot be opened

	used atomic.Bool          // the tree has been opened before
	kept atomic.Pointer[root] // the directory, open for all requests

	plain  bool // the files of fsys come from the operating system unchanged
	fixed  bool // the files of fsys never change
	hashes hashes
	cache
}

// kind says how a tree finds a file by its name.
type kind uint8

const (
	confined kind = iota // below an os.Root
	host                 // by a path of the operating system, which follows base
	foreign              // in an fs.FS
)

// Below returns the tree of the directory at path. No name and no symlink leads out of the directory. If a regular file
// is at path, the tree contains only this file.
func Below(path string) *Tree {
	abs, err := filepath.Abs(path)
	return newTree(&Tree{kind: confined, base: abs, err: err})
}

// Host returns the tree of all files of the operating system, whose names are paths. The tree follows all symlinks.
func Host() *Tree { return newTree(&Tree{kind: host}) }

// Unconfined returns the tree of the directory at path. The tree follows all symlinks.
func Unconfined(path string) *Tree { return newTree(&Tree{kind: host, base: path}) }

// Of returns the tree of the directory dir in fsys.
func Of(fsys fs.FS, dir string) *Tree {
	sub, err := fs.Sub(fsys, dir)
	_, fixed := FixedOf(fsys)
	return newTree(&Tree{kind: foreign, fsys: sub, err: err, plain: isPlain(fsys), fixed: fixed})
}

// newTree returns t without a cache. Configure turns the cache on.
func newTree(t *Tree) *Tree {
	t.off, t.every, t.keep = true, -1, DefaultKeep
	return t
}

// DefaultKeep is how long an unused root stays open by default.
const DefaultKeep = 10 * time.Second

// IsHost reports whether names are paths of the operating system.
func (t *Tree) IsHost() bool { return t.kind == host && t.base == "" }

// View is an open tree. All names are resolved in the directory that was at the path of the tree when View was called.
type View struct {
	tree *Tree
	root *root
	only string // the name of the only file, or ""
}

// View opens the tree. Release the view after use. Files that were opened stay open.
func (t *Tree) View() (View, error) {
	if t.err != nil || t.kind != confined {
		return View{tree: t}, t.err
	}
	r, err := t.current()
	if err == nil {
		return View{tree: t, root: r}, nil
	}
	if info, e := os.Stat(t.base); e != nil || !info.Mode().IsRegular() {
		return View{}, err
	}
	dir, file := filepath.Split(t.base)
	if r, err = openRoot(dir); err != nil {
		return View{}, err
	}
	return View{tree: t, root: r, only: file}, nil
}

// Release closes the view.
func (v *View) Release() {
	if v.root != nil {
		v.root.leave()
	}
}

// HasOnlyOne reports whether the path of the tree is the path of a file.
func (v *View) HasOnlyOne() bool { return v.only != "" }

// Find returns the name of the file that has that name in the tree. The only file of a tree has the name ".".
func (v *View) Find(name string) (string, error) {
	switch {
	case v.only == "":
		return name, nil
	case name == ".":
		return v.only, nil
	}
	return "", fs.ErrNotExist
}

// Dir returns the directory of that name as a file system.
func (v *View) Dir(name string) (fsys fs.FS, dir string) {
	switch v.tree.kind {
	case host:
		return os.DirFS(v.tree.base + name), "."
	case foreign:
		return v.tree.fsys, name
	}
	return v.root.FS(), name
}

// Stat describes a regular file or a directory. Anything else does not exist.
func (v *View) Stat(name string) (fs.FileInfo, error) { return checked(v.stat(name)) }

// Open opens a regular file or a directory. Anything else does not exist.
func (v *View) Open(name string) (fs.File, fs.FileInfo, error) {
	if v.tree.kind == foreign || !opensWithoutWaiting {
		if _, err := v.Stat(name); err != nil { // a pipe would wait
			return nil, nil, err
		}
	}
	file, err := v.open(name)
	if err != nil {
		return nil, nil, v.explain(name, err)
	}
	info, err := checked(file.Stat())
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// explain returns the error of a file that cannot be opened. Some devices cannot be opened; like all devices, they do not
// exist.
func (v *View) explain(name string, err error) error {
	if !os.IsNotExist(err) {
		if _, e := v.Stat(name); e != nil {
			return e
		}
	}
	return err
}

// checked turns the description of anything that is neither a regular file nor a directory into fs.ErrNotExist.
func checked(info fs.FileInfo, err error) (fs.FileInfo, error) {
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() && !info.IsDir():
		return nil, fs.ErrNotExist
	}
	return info, nil
}

func (v *View) stat(name string) (fs.FileInfo, error) {
	switch {
	case v.tree.kind == foreign:
		return fs.Stat(v.tree.fsys, name)
	case !v.isName(name):
		return nil, fs.ErrInvalid
	case v.tree.kind == host:
		return os.Stat(v.tree.base + name)
	}
	return v.root.Stat(name)
}

func (v *View) open(name string) (fs.File, error) {
	switch {
	case v.tree.kind == foreign:
		return v.tree.fsys.Open(name)
	case !v.isName(name):
		return nil, fs.ErrInvalid
	case v.tree.kind == host:
		return asFile(os.OpenFile(v.tree.base+name, openFlags, 0))
	}
	return asFile(v.root.OpenFile(name, openFlags, 0))
}

// asFile returns a nil fs.File instead of a nil *os.File.
func asFile(file *os.File, err error) (fs.File, error) {
	if err != nil {
		return nil, err
	}
	return file, nil
}

// isName reports whether name may be the name of a file. Below a directory, names have the form that io/fs requires, and
// a backslash would separate segments on Windows.
func (v *View) isName(name string) bool {
	return v.tree.IsHost() || fs.ValidPath(name) && !strings.Contains(name, `\`)
}
