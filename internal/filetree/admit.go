package filetree

import (
	"hash/maphash"
	"io/fs"
	"slices"
	"sync/atomic"
	"time"
)

// Admit returns a new entry for a regular file if this is its second use and it may be cached. info describes the file,
// which view has found.
func (t *Tree) Admit(view *View, name string, info fs.FileInfo) *Entry {
	if t.off || !t.isSecond(name) {
		return nil
	}
	version, ok := t.versionOf(info)
	if !ok || version.isYoung() || version.fixed && version.size > MaxInMemory {
		return nil
	}
	return t.insert(view, &Entry{name: name, version: version, negotiable: t.loader.IsNegotiable(name)})
}

// AdmitIndex caches that a directory has an index file. before are the names of the index files that it lacks.
func (t *Tree) AdmitIndex(view *View, dir, index string, before []string) {
	if t.off || !t.isSecond(dir) {
		return
	}
	version, info, err := view.versionAt(dir)
	if err != nil || info == nil || !info.IsDir() {
		return
	}
	var probes []probe
	for _, name := range before {
		if version, _, err := view.versionAt(name); err != nil || version != (Version{}) {
			return
		}
		probes = append(probes, probe{name: name})
	}
	e := &Entry{name: dir, version: version, index: index}
	e.probes.Store(&probes)
	t.insert(view, e)
}

// AdmitAlias caches that a name, which is not the name of a regular file, stands for another file, which exists.
func (t *Tree) AdmitAlias(view *View, name, file string) {
	if t.off || !t.isSecond(name) {
		return
	}
	version, info, err := view.versionAt(name)
	if err == nil && (info == nil || info.IsDir()) {
		t.insert(view, &Entry{name: name, version: version, index: file, alias: true})
	}
}

func (t *Tree) isSecond(name string) bool {
	return isSecondUse(maphash.String(t.seed, name), clock(), t.keep)
}

// insert puts an entry in the table, unless the root of the view is not the one that the tree keeps. If the name has an
// entry already, insert returns that one.
func (t *Tree) insert(view *View, e *Entry) *Entry {
	e.root = view.root
	e.checked.Store(clock())
	e.recent.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept.Load() != view.root || view.only != "" {
		return nil
	}
	bucket := &t.openTable()[maphash.String(t.seed, e.name)%buckets]
	var free *atomic.Pointer[Entry]
	for i := range bucket {
		switch old := bucket[i].Load(); {
		case old == nil:
			free = &bucket[i]
		case old.name == e.name && old.root == e.root:
			return old
		case old.name == e.name && !t.remove(&bucket[i], old):
			return nil
		case old.name == e.name:
			free = &bucket[i]
		}
	}
	if t.entries >= MaxEntries && !t.evict(func(*Entry) bool { return true }) {
		return nil
	}
	if free == nil {
		if free = t.evictFrom(bucket); free == nil {
			return nil
		}
	}
	free.Store(e)
	t.entries++
	t.arm()
	return e
}

// Load returns a variant of the entry: the original in slot 0, and else the sibling with one of the suffixes. It returns
// nil if the variant cannot be cached.
func (t *Tree) Load(e *Entry, slot int, suffixes []string) *Variant {
	if v := e.variants[slot].Load(); v != nil {
		return v
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if v := e.variants[slot].Load(); v != nil || e.gone {
		return v
	}
	v, probes := t.load(e, slot, suffixes)
	if v != nil {
		if before := e.probes.Load(); before != nil {
			probes = append(slices.Clone(*before), probes...)
		}
		e.probes.Store(&probes)
		e.variants[slot].Store(v)
	}
	return v
}

// load reads a variant, and returns what it relies on besides the original.
func (t *Tree) load(e *Entry, slot int, suffixes []string) (*Variant, []probe) {
	from := t
	if slot > 0 {
		from = t.loader.Siblings
	}
	view, err := from.View()
	if err != nil {
		return nil, nil
	}
	defer view.Release()
	if slot == 0 {
		return t.loadFile(&view, e, slot, e.name, e.version), nil
	}
	var probes []probe
	for _, suffix := range suffixes {
		name := e.name + suffix
		version, info, err := view.versionAt(name)
		if err != nil {
			return nil, nil
		}
		probes = append(probes, probe{name: name, version: version, coded: true})
		if (version == Version{}) || info.IsDir() || info.Size() == 0 || !version.fixed && t.loader.IsStale(info.ModTime(), time.Unix(0, e.version.modified)) {
			continue
		}
		return t.loadFile(&view, e, slot, name, version), probes
	}
	return &Variant{Absent: true}, probes
}

// loadFile reads a file that must have this version.
func (t *Tree) loadFile(view *View, e *Entry, slot int, name string, version Version) *Variant {
	v, info, start, err := t.read(view, name)
	if err != nil {
		return nil
	}
	if v.version != version {
		v.release(t.spent)
		return nil
	}
	v.Name = e.name
	t.loader.Prepare(v, slot, info, start)
	return v
}
