package filetree

import (
	"hash/maphash"
	"io/fs"
	"math"
	"os"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// MaxEntries is how many entries the cache of a tree has at most.
const MaxEntries = 1024

// The table of a cache has buckets of a few places each. Reading a place takes no lock.
const (
	ways    = 8
	buckets = 2 * MaxEntries / ways // half of the places stay empty, so that full buckets are rare
)

// sweeps is how many sweeps an entry that is not used survives. They take the duration after which it goes.
const sweeps = 4

// table holds the entries of a tree.
type table [buckets][ways]atomic.Pointer[Entry]

// cache is the part of a tree that remembers files.
type cache struct {
	off    bool
	every  time.Duration // between two checks; negative: each request checks
	keep   time.Duration // how long unused entries stay
	loader Loader
	seed   maphash.Seed
	table  atomic.Pointer[table]
	spent  *account

	mu      sync.Mutex // guards what follows, and the places of the table while they are written
	entries int
	hand    int // the next place that may have to make room
	armed   bool
}

// Settings say how a tree uses its cache.
type Settings struct {
	Off    bool          // caches nothing, and checks the root for each use
	Every  time.Duration // between two checks of an entry; negative: each use checks
	Keep   time.Duration // how long unused entries, and an unused root, are kept
	Loader Loader
}

// Configure sets how the tree uses its cache. It must be called before the first use.
func (t *Tree) Configure(s Settings) {
	t.off = s.Off || !t.fixed && (!keepsOpen || !t.isCacheable())
	t.every, t.keep, t.loader = s.Every, s.Keep, s.Loader
	if s.Off {
		t.every = -1
	}
	if t.fixed {
		t.every = math.MaxInt64
	}
	t.seed = maphash.MakeSeed()
}

// openTable makes the table and the account of the tree at its first entry. The account is closed when the tree is garbage.
// The caller holds the lock.
func (t *Tree) openTable() *table {
	places := t.table.Load()
	if places == nil {
		places = new(table)
		t.spent = new(account)
		runtime.AddCleanup(t, (*account).close, t.spent)
		t.table.Store(places)
	}
	return places
}

// isCacheable reports whether the files of the tree come from the operating system unchanged. Another fs.FS may make its
// files for each call.
func (t *Tree) isCacheable() bool {
	return t.kind != foreign || t.plain
}

// plainTypes are the file systems whose files come from the operating system unchanged.
var plainTypes = [...]reflect.Type{reflect.TypeOf(os.DirFS(".")), reflect.TypeOf((*os.Root)(nil).FS())}

// isPlain reports whether fsys is one of those file systems.
func isPlain(fsys fs.FS) bool {
	t := reflect.TypeOf(fsys)
	return t == plainTypes[0] || t == plainTypes[1]
}

// start is when the clock of this package began.
var start = time.Now()

// clock returns the time that has passed, in nanoseconds.
func clock() int64 { return int64(time.Since(start)) }

// Lookup returns the entry of a name, if it agrees with the disk as far as the interval between checks requires. The
// name may be any bytes.
func (t *Tree) Lookup(name []byte) *Entry {
	places := t.table.Load()
	if places == nil {
		return nil
	}
	bucket := &places[maphash.Bytes(t.seed, name)%buckets]
	for i := range bucket {
		if e := bucket[i].Load(); e != nil && e.name == string(name) {
			if e.root != t.kept.Load() || !t.isFresh(e) {
				return nil
			}
			if !e.recent.Load() {
				e.recent.Store(true)
			}
			return e
		}
	}
	return nil
}

// isDue reports whether something that was last checked at the time in checked has to be checked by the caller.
func (t *Tree) isDue(checked *atomic.Int64) bool {
	if t.every < 0 {
		return true
	}
	now, last := clock(), checked.Load()
	return now-last >= int64(t.every) && checked.CompareAndSwap(last, now)
}

// isFresh checks the root and the entry if they are due. An entry that differs from the disk is dropped.
func (t *Tree) isFresh(e *Entry) bool {
	switch {
	case !t.isDue(&e.checked):
		return e.root == nil || t.hasCurrentRoot()
	case t.agrees(e):
		return true
	}
	t.Drop(e)
	return false
}

// hasCurrentRoot reports whether the root that the tree keeps is still at its path.
func (t *Tree) hasCurrentRoot() bool {
	r := t.kept.Load()
	if r == nil {
		return false
	}
	if !t.isCurrent(r) {
		t.replaceRoot(r)
		return false
	}
	return true
}

// agrees reports whether everything that the entry relies on is still true.
func (t *Tree) agrees(e *Entry) bool {
	view, err := t.View()
	if err != nil {
		return false
	}
	defer view.Release()
	if now, _, err := view.versionAt(e.name); err != nil || now != e.version || view.root != e.root {
		return false
	}
	probes := t.probesOf(e)
	if probes == nil {
		return true
	}
	coded := view
	if s := t.loader.Siblings; s != t {
		s.expire()
		if coded, err = s.View(); err != nil {
			return false
		}
		defer coded.Release()
	}
	for _, p := range *probes {
		in := &view
		if p.coded {
			in = &coded
		}
		if now, _, err := in.versionAt(p.name); err != nil || now != p.version {
			return false
		}
	}
	return true
}

// probesOf returns the probes of an entry. If each use checks, it waits while a variant is loaded. Variants that appear
// later were therefore read after the caller's request began, and need no check.
func (t *Tree) probesOf(e *Entry) *[]probe {
	if t.every < 0 {
		e.mu.Lock()
		defer e.mu.Unlock()
	}
	return e.probes.Load()
}

// expire makes the next View check the root.
func (t *Tree) expire() {
	if r := t.kept.Load(); r != nil {
		r.checked.Store(clock() - int64(t.every))
	}
}
