package filetree

import (
	"embed"
	"io"
	"io/fs"
	"reflect"
	"sync"
)

// Fixed identifies a file system whose files never change: an embed.FS, or a directory of one that fs.Sub returned. Two
// equal values identify the same files.
type Fixed struct {
	files uintptr // the files of an embed.FS, which are part of the program
	dir   string
}

// subType is the type of the result of fs.Sub. It has the file system and the directory as its fields.
var subType = func() reflect.Type {
	sub, err := fs.Sub(embed.FS{}, "x")
	t := reflect.TypeOf(sub)
	if err != nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || t.Elem().NumField() != 2 ||
		t.Elem().Field(0).Type != reflect.TypeFor[fs.FS]() || t.Elem().Field(1).Type.Kind() != reflect.String {
		return nil // another version of Go; such a file system is not recognized
	}
	return t
}()

// FixedOf identifies fsys. It reports false if the files of fsys may change, or if it does not know.
func FixedOf(fsys fs.FS) (id Fixed, ok bool) {
	id.dir = "."
	v := reflect.ValueOf(fsys)
	if v.IsValid() && v.Type() == subType && !v.IsNil() {
		id.dir = v.Elem().Field(1).String()
		v = v.Elem().Field(0).Elem()
	}
	if !v.IsValid() || v.Type() != reflect.TypeFor[embed.FS]() || v.NumField() != 1 || v.Field(0).Kind() != reflect.Pointer {
		return Fixed{}, false
	}
	id.files = v.Field(0).Pointer()
	return id, true
}

// MaxHashes is how many hashes a tree remembers.
const MaxHashes = 1 << 14

// hashes remembers the hashes of files that never change. Each is made once.
type hashes struct {
	mu sync.Mutex
	of map[string]func() (string, error)
}

// Hash returns the hash of the content of a file, or "" if files of the tree may change.
func (v *View) Hash(name string) (string, error) {
	t := v.tree
	if !t.fixed {
		return "", nil
	}
	t.hashes.mu.Lock()
	hash := t.hashes.of[name]
	if hash == nil {
		if t.hashes.of == nil {
			t.hashes.of = map[string]func() (string, error){}
		}
		for other := range t.hashes.of {
			if len(t.hashes.of) < MaxHashes {
				break
			}
			delete(t.hashes.of, other)
		}
		hash = sync.OnceValues(func() (string, error) { return hashFile(t.fsys, name, t.loader.Hash) })
		t.hashes.of[name] = hash
	}
	t.hashes.mu.Unlock()
	return hash()
}

func hashFile(fsys fs.FS, name string, hash func(io.Reader) (string, error)) (string, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return hash(file)
}

// readFixed reads a file that never changes. A large file is not cached, because opening it costs little.
func (t *Tree) readFixed(view *View, file fs.File, v *Variant, name string) (err error) {
	if v.Hash, err = view.Hash(name); err != nil {
		return err
	}
	if v.Size > MaxInMemory || !t.reserve(v.Size, 0) {
		return errUncached
	}
	v.Data = make([]byte, v.Size)
	if _, err = io.ReadFull(file, v.Data); err != nil {
		t.spent.release(v.Size, 0)
	}
	return err
}

// versionOf returns the version of a file of the tree.
func (t *Tree) versionOf(info fs.FileInfo) (Version, bool) {
	if t.fixed {
		return Version{fixed: true, size: info.Size()}, true
	}
	return versionOf(info)
}
