package filetree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// MaxInMemory is the size of the largest file whose content is kept in memory. Sending more from memory is not faster
// than sendfile.
const MaxInMemory = 128 << 10

// SniffBytes is how many bytes of a large file Loader.Prepare gets.
const SniffBytes = 512

// Variants is how many variants an entry may have: the original and its precompressed siblings.
const Variants = 5

// Entry is what the cache knows about a name: a regular file with its siblings, or a directory with its index file.
type Entry struct {
	name       string
	version    Version // of the original
	index      string  // of a directory, the name of its index file; of an alias, of its file; "" for a regular file
	alias      bool    // the name stands for the file index
	negotiable bool    // siblings may be sent instead of the file
	root       *root   // in which the entry was found, or nil

	checked atomic.Int64 // when the entry was last compared with the disk
	recent  atomic.Bool  // used since the last sweep
	idle    int          // sweeps since the last use; guarded by the lock of the tree

	variants [Variants]atomic.Pointer[Variant] // nil if not known yet; the first one is the original
	made     [Variants]made                    // the variants that replace absent siblings

	probes atomic.Pointer[[]probe] // what must still be true, besides the version of the original

	mu   sync.Mutex // guards what follows and writes to variants and probes, and is held while a variant is loaded
	gone bool       // the content was given back
}

// probe is a name with the version that it had when the entry was made.
type probe struct {
	name    string
	version Version
	coded   bool // the name is in the tree of the siblings
}

// Variant is a file, or a precompressed sibling, in one version. It never changes. If Absent is set, there is no such
// sibling.
type Variant struct {
	Absent   bool
	Name     string // of the file, without the suffix of a sibling
	Size     int64
	Modified time.Time
	Data     []byte  // the content, if Shared is nil
	Shared   *Shared // the content of a large file
	Hash     string  // of the content, if the file never changes
	Prepared         // what the program derives from the file

	version Version
}

// Prepared is what a response says about a variant. Tag and LastModified are nil if the modification time is unknown.
type Prepared struct {
	Tag          []byte // with quotes
	LastModified []byte
	Type         string // the media type
	BareTag      string // without quotes
}

// Name returns the name of the entry.
func (e *Entry) Name() string { return e.name }

// Index returns the name of the index file of a directory, or of the file of an alias, or "" for a regular file.
func (e *Entry) Index() string { return e.index }

// IsAlias reports whether the name stands for the file that Index returns. There may also be a directory of that name.
func (e *Entry) IsAlias() bool { return e.alias }

// IsNegotiable reports whether siblings may be sent instead of the file.
func (e *Entry) IsNegotiable() bool { return e.negotiable }

// Loader makes the variants of entries.
type Loader struct {
	// Hash returns a hash of the content of a file that never changes.
	Hash     func(io.Reader) (string, error)
	Siblings *Tree // the tree that has the precompressed siblings
	// IsNegotiable reports whether siblings of a file with this name may be sent.
	IsNegotiable func(name string) bool
	// Prepare fills in what is derived from a file. start has the first bytes of the file.
	Prepare func(v *Variant, slot int, info fs.FileInfo, start []byte)
	// Encode makes a variant of the original, whose content is in data. If that is not worthwhile, the result has Absent set.
	Encode func(original *Variant, slot int, data []byte) *Variant
	// IsStale reports whether a sibling is older than its original.
	IsStale func(sibling, original time.Time) bool
}

// errUncached says that a file is served without the cache.
var errUncached = errors.New("file is not cached")

// isAbsent reports whether err says that there is no such file, and no error of the disk.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// versionAt returns the version of a name, which is zero if there is no such file. Other errors are errors.
func (v *View) versionAt(name string) (Version, fs.FileInfo, error) {
	info, err := v.Stat(name)
	switch {
	case err != nil && isAbsent(err):
		return Version{}, nil, nil
	case err != nil:
		return Version{}, nil, err
	}
	version, ok := v.tree.versionOf(info)
	if !ok || version.isYoung() {
		return Version{}, nil, errUncached
	}
	return version, info, nil
}

// read returns an open file in the version that it has. It keeps the content of small files. Larger files stay open.
func (t *Tree) read(view *View, name string) (*Variant, fs.FileInfo, []byte, error) {
	file, info, err := view.Open(name)
	if err != nil {
		return nil, nil, nil, err
	}
	version, ok := t.versionOf(info)
	from, isFile := file.(*os.File)
	if !ok || !isFile && !version.fixed || info.IsDir() || version.isYoung() {
		file.Close()
		return nil, nil, nil, errUncached
	}
	v := &Variant{Size: info.Size(), Modified: info.ModTime(), version: version}
	if version.fixed {
		defer file.Close()
		err := t.readFixed(view, file, v, name)
		return v, info, v.Data, err
	}
	if v.Size > MaxInMemory {
		return t.share(v, from, info)
	}
	defer file.Close()
	if !t.reserve(v.Size, 0) {
		return nil, nil, nil, errUncached
	}
	v.Data = make([]byte, v.Size)
	info, err = readVersion(from, v.Data, version)
	if err != nil {
		t.spent.release(v.Size, 0)
		return nil, nil, nil, err
	}
	return v, info, v.Data, nil
}

// readVersion fills data with the first bytes of a file. It returns an error if the file does not have this version
// afterwards.
func readVersion(from fs.File, data []byte, version Version) (fs.FileInfo, error) {
	if _, err := io.ReadFull(from, data); err != nil {
		return nil, err
	}
	info, err := from.Stat()
	if err != nil {
		return nil, err
	}
	if after, _ := versionOf(info); after != version {
		return nil, errUncached // it was written to while it was read
	}
	return info, nil
}

// share keeps a large file open.
func (t *Tree) share(v *Variant, file *os.File, info fs.FileInfo) (*Variant, fs.FileInfo, []byte, error) {
	head := make([]byte, SniffBytes)
	if _, err := file.ReadAt(head, 0); err != nil {
		file.Close()
		return nil, nil, nil, err
	}
	if !t.reserve(0, 1) {
		file.Close()
		return nil, nil, nil, errUncached
	}
	v.Shared = &Shared{File: file, of: t.spent}
	v.Shared.users.Store(1)
	return v, info, head, nil
}

// holds reports whether the entry has content in memory, or open files.
func (e *Entry) holds() (bytes, descriptors bool) {
	for i := range e.variants {
		if v := e.variants[i].Load(); v != nil && !v.Absent {
			bytes = bytes || v.Shared == nil
			descriptors = descriptors || v.Shared != nil
		}
		if v := e.made[i].variant.Load(); v != nil && !v.Absent {
			bytes = true
		}
	}
	return bytes, descriptors
}

// release gives the content back.
func (v *Variant) release(to *account) {
	switch {
	case v.Shared != nil:
		v.Shared.Close()
	case !v.Absent:
		to.release(int64(len(v.Data)), 0)
	}
}

// Enter makes sure that the content of a variant can be read until the response closes it. It reports false if the file
// was changed or closed meanwhile. Content in memory can always be read.
func (v *Variant) Enter() bool {
	if v.Shared == nil {
		return true
	}
	if !v.Shared.Enter() {
		return false
	}
	info, err := v.Shared.File.Stat()
	if err == nil {
		if now, _ := versionOf(info); now == v.version {
			return true
		}
	}
	v.Shared.Close()
	return false
}
