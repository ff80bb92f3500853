package filetree

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// TestMain lets files be cached as soon as they are written.
func TestMain(m *testing.M) {
	youth = -time.Hour
	wiretest.RunWaiting(m)
}

// cached returns a tree with a cache, or skips the test.
func cached(t testing.TB, dir string, change func(s *Settings)) *Tree {
	if !keepsOpen {
		t.Skip("the system has no cache")
	}
	tree := Below(dir)
	s := Settings{Every: -1, Keep: time.Minute, Loader: Loader{
		Siblings: tree, IsNegotiable: func(name string) bool { return strings.HasSuffix(name, ".css") },
		Prepare: func(v *Variant, slot int, info fs.FileInfo, start []byte) { v.Type = fmt.Sprint(slot, len(start)) },
		IsStale: func(sibling, original time.Time) bool { return sibling.Before(original) },
	}}
	if change != nil {
		change(&s)
	}
	tree.Configure(s)
	return tree
}

// use is what a request does: it takes the entry of a name, or looks for the file and admits it. It returns nil while the
// file is not cached.
func use(t testing.TB, tree *Tree, name string) *Entry {
	if e := tree.Lookup([]byte(name)); e != nil {
		return e
	}
	view, err := tree.View()
	if err != nil {
		return nil
	}
	defer view.Release()
	info, err := view.Stat(name)
	if err != nil || info.IsDir() {
		return nil
	}
	return tree.Admit(&view, name, info)
}

// content returns the content of a variant.
func content(t testing.TB, v *Variant) string {
	t.Helper()
	switch {
	case v == nil:
		return "not cached"
	case v.Absent:
		return "absent"
	case v.Shared == nil:
		return string(v.Data)
	case !v.Enter():
		return "changed"
	}
	defer v.Shared.Close()
	b := make([]byte, v.Size)
	if _, err := v.Shared.File.ReadAt(b, 0); err != nil {
		t.Error(err)
	}
	return string(b)
}

// original returns the content of a name after it was used a few times.
func original(t testing.TB, tree *Tree, name string) string {
	t.Helper()
	for range 3 {
		if e := use(t, tree, name); e != nil {
			return content(t, tree.Load(e, 0, nil))
		}
	}
	return "not admitted"
}

// held returns what a tree holds. Trees of earlier tests, which are garbage, do not count.
func held(tree *Tree) (bytes, descriptors int64) {
	tree.mu.Lock()
	of := tree.spent
	tree.mu.Unlock()
	if of == nil {
		return 0, 0
	}
	spent.Lock()
	defer spent.Unlock()
	return of.bytes, of.descriptors
}

func TestAdmissionOnSecondUse(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "a")
	tree := cached(t, dir, nil)
	if use(t, tree, "a") != nil {
		t.Error("cached at its first use")
	}
	use(t, tree, "a")
	e := use(t, tree, "a")
	if e == nil || e != tree.Lookup([]byte("a")) {
		t.Fatal("not cached")
	}
	if got := content(t, tree.Load(e, 0, nil)); got != "a" {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"", ".", "/a", "a/", "./a", "A", "b"} {
		if tree.Lookup([]byte(name)) != nil {
			t.Errorf("%q is cached", name)
		}
	}
	off := cached(t, dir, func(s *Settings) { s.Off = true })
	if got := original(t, off, "a"); got != "not admitted" {
		t.Errorf("a cache that is off: %q", got)
	}
}

func TestYoungFilesAreNotCached(t *testing.T) {
	defer func(d time.Duration) { youth = d }(youth)
	youth = time.Hour
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "a")
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "a"), old, old); err != nil {
		t.Fatal(err)
	}
	if got := original(t, cached(t, dir, nil), "a"); got != "not admitted" {
		t.Errorf("%q: a program can set the modification time, but not the change time", got)
	}
}

// TestChangesAreSeen changes a file in all the ways there are, with a check for each use.
func TestChangesAreSeen(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", MaxInMemory+1)
	for _, tc := range []struct {
		name, before, want string
		change             func(file string) error
	}{
		{"renamed over", "old", "new", func(f string) error {
			os.WriteFile(f+".tmp", []byte("new"), 0o644)
			return os.Rename(f+".tmp", f)
		}},
		{"written over, of the same length", "old", "new", func(f string) error { return os.WriteFile(f, []byte("new"), 0o644) }},
		{"grown", "old", "older", func(f string) error { return os.WriteFile(f, []byte("older"), 0o644) }},
		{"emptied", "old", "", func(f string) error { return os.Truncate(f, 0) }},
		{"removed", "old", "not admitted", os.Remove},
		{"a directory", "old", "not admitted", func(f string) error { os.Remove(f); return os.Mkdir(f, 0o755) }},
		{"a link inside", "old", "inside", func(f string) error {
			os.WriteFile(f+".to", []byte("inside"), 0o644)
			os.Remove(f)
			return os.Symlink(filepath.Base(f)+".to", f)
		}},
		{"a link outside", "old", "not admitted", func(f string) error { os.Remove(f); return os.Symlink("/etc/passwd", f) }},
		{"large, renamed over", large, "new", func(f string) error {
			os.WriteFile(f+".tmp", []byte("new"), 0o644)
			return os.Rename(f+".tmp", f)
		}},
		{"large, of the same length", large, strings.Repeat("y", len(large)), func(f string) error {
			return os.WriteFile(f, []byte(strings.Repeat("y", len(large))), 0o644)
		}},
		{"large, shrunk", large, large[:10], func(f string) error { return os.Truncate(f, 10) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "a")
			write(t, file, tc.before)
			tree := cached(t, dir, nil)
			if got := original(t, tree, "a"); got != tc.before {
				t.Fatalf("%.20q before", got)
			}
			time.Sleep(20 * time.Millisecond) // kernels before 6.13 keep the time of a tick
			if err := tc.change(file); err != nil {
				t.Fatal(err)
			}
			if got := original(t, tree, "a"); got != tc.want {
				t.Errorf("%.20q, want %.20q", got, tc.want)
			}
		})
	}
}

// TestLargeFilesAreCheckedEachTime changes large files long before the entry is due.
func TestLargeFilesAreCheckedEachTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	for name, change := range map[string]func() error{
		"shrunk":       func() error { return os.Truncate(file, 10) },
		"removed":      func() error { return os.Remove(file) },
		"written over": func() error { return os.WriteFile(file, make([]byte, MaxInMemory+1), 0o644) },
	} {
		write(t, file, strings.Repeat("x", MaxInMemory+1))
		tree := cached(t, dir, func(s *Settings) { s.Every = time.Hour })
		original(t, tree, "a")
		e := use(t, tree, "a")
		if e == nil || len(content(t, tree.Load(e, 0, nil))) != MaxInMemory+1 {
			t.Fatalf("%s: not cached", name)
		}
		time.Sleep(20 * time.Millisecond)
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if got := content(t, tree.Load(e, 0, nil)); got != "changed" {
			t.Errorf("%s: %.20q", name, got)
		}
		tree.Drop(e)
	}
}

// TestIntervalOfChecks looks at the disk when the interval has passed, and not before.
func TestIntervalOfChecks(t *testing.T) {
	t.Parallel()
	const every = 300 * time.Millisecond
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "old")
	tree := cached(t, dir, func(s *Settings) { s.Every = every })
	original(t, tree, "a")
	e := use(t, tree, "a")
	admitted := time.Unix(0, 0).Add(time.Duration(e.checked.Load()))
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	seen := tree.Lookup([]byte("a")) != nil
	if passed := time.Unix(0, clock()).Sub(admitted); !seen && passed < every {
		t.Errorf("looked at the disk after %v", passed)
	}
	time.Sleep(every)
	if tree.Lookup([]byte("a")) != nil {
		t.Error("did not look at the disk")
	}
}

func TestSiblings(t *testing.T) {
	t.Parallel()
	suffixes := []string{".gz", ".old.gz"}
	for _, tc := range []struct {
		name         string
		before       []string // name, content
		change       []string
		first, after string
	}{
		{"none", nil, nil, "absent", "absent"},
		{"the first suffix", []string{"a.css.gz", "1", "a.css.old.gz", "2"}, nil, "1", "1"},
		{"the second suffix", []string{"a.css.old.gz", "2"}, nil, "2", "2"},
		{"the first one appears", []string{"a.css.old.gz", "2"}, []string{"a.css.gz", "1"}, "2", "1"},
		{"one appears", nil, []string{"a.css.old.gz", "2"}, "absent", "2"},
		{"it changes", []string{"a.css.gz", "1"}, []string{"a.css.gz", "9"}, "1", "9"},
		{"it is emptied", []string{"a.css.gz", "1"}, []string{"a.css.gz", ""}, "1", "absent"},
		{"it is filled", []string{"a.css.gz", ""}, []string{"a.css.gz", "1"}, "absent", "1"},
		{"the original is newer", []string{"a.css.gz", "1"}, []string{"a.css", "new"}, "1", "absent"},
		{"both change", []string{"a.css.gz", "1"}, []string{"a.css", "new", "a.css.gz", "9"}, "1", "9"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tree := cached(t, dir, nil)
			put := func(files []string) {
				for pair := range slices.Chunk(files, 2) {
					time.Sleep(20 * time.Millisecond)
					write(t, filepath.Join(dir, pair[0]), pair[1])
				}
			}
			sibling := func() string {
				for range 4 {
					if e := use(t, tree, "a.css"); e != nil {
						if !e.IsNegotiable() {
							t.Error("not negotiable")
						}
						return content(t, tree.Load(e, 1, suffixes))
					}
				}
				return "not admitted"
			}
			put(append([]string{"a.css", "old"}, tc.before...))
			if got := sibling(); got != tc.first {
				t.Errorf("at first %q, want %q", got, tc.first)
			}
			put(tc.change)
			if got := sibling(); got != tc.after {
				t.Errorf("then %q, want %q", got, tc.after)
			}
		})
	}
}

func TestIndexOfADirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "d", "b.html"), "b")
	tree := cached(t, dir, nil)
	admit := func() *Entry {
		for range 3 {
			view, err := tree.View()
			if err != nil {
				t.Fatal(err)
			}
			tree.AdmitIndex(&view, "d", "d/b.html", []string{"d/a.html"})
			view.Release()
		}
		return tree.Lookup([]byte("d"))
	}
	e := admit()
	if e == nil || e.Index() != "d/b.html" {
		t.Fatalf("%+v", e)
	}
	time.Sleep(20 * time.Millisecond)
	write(t, filepath.Join(dir, "d", "a.html"), "a")
	if tree.Lookup([]byte("d")) != nil || admit() != nil {
		t.Error("an index file that comes first was overlooked")
	}
}

// TestReplacedDirectoryForgets swaps the directory whose files are cached.
func TestReplacedDirectoryForgets(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"v1", "v2"} {
		write(t, filepath.Join(dir, v, "a"), v)
	}
	current := filepath.Join(dir, "current")
	if err := os.Symlink("v1", current); err != nil {
		if runtime.GOOS != "windows" {
			t.Fatal(err)
		}
		t.Skip("this user may create no symlinks: ", err)
	}
	tree := cached(t, current, nil)
	if got := original(t, tree, "a"); got != "v1" {
		t.Fatalf("%q", got)
	}
	os.Symlink("v2", current+".new")
	if err := os.Rename(current+".new", current); err != nil {
		t.Fatal(err)
	}
	if got := original(t, tree, "a"); got != "v2" {
		t.Errorf("%q", got)
	}
	if now, _ := held(tree); now != 2 {
		t.Errorf("holds %d bytes", now)
	}
}

// TestBoundOfEntries uses more files than the cache holds.
func TestBoundOfEntries(t *testing.T) {
	dir := t.TempDir()
	const files = 3 * MaxEntries / 2
	file := filepath.Join(dir, "x")
	write(t, file, "x")
	for i := range files { // a link is made faster than a file
		if err := os.Link(file, filepath.Join(dir, fmt.Sprint(i))); err != nil {
			write(t, filepath.Join(dir, fmt.Sprint(i)), "x")
		}
	}
	tree := cached(t, dir, func(s *Settings) { s.Every = time.Hour })
	for i := range files {
		original(t, tree, fmt.Sprint(i))
	}
	if now, _ := held(tree); tree.entries > MaxEntries || tree.entries < MaxEntries*3/4 || now > int64(tree.entries) {
		t.Errorf("%d entries, %d bytes", tree.entries, now)
	}
}

// TestBoundOfBytes uses more content than all caches may hold.
func TestBoundOfBytes(t *testing.T) {
	dir := t.TempDir()
	const files = MaxBytes/MaxInMemory + 100
	for i := range files {
		name := filepath.Join(dir, fmt.Sprint(i))
		write(t, name, "x")
		if err := os.Truncate(name, MaxInMemory); err != nil {
			t.Fatal(err)
		}
	}
	tree := cached(t, dir, func(s *Settings) { s.Every = time.Hour })
	for i := range files {
		if got := original(t, tree, fmt.Sprint(i)); len(got) != MaxInMemory {
			t.Fatalf("file %d: %.20q", i, got)
		}
	}
	if now, _ := held(tree); now > MaxBytes || now < MaxBytes*3/4 {
		t.Errorf("%d bytes", now)
	}
}

// TestAbsentNamesLeaveNothing asks for many names that do not exist.
func TestAbsentNamesLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	tree := cached(t, dir, nil)
	names := 20_000
	if wiretest.Long() {
		names = 1_000_000
	}
	before := memory()
	for i := range names {
		name := fmt.Sprintf("%x%x", i, rand.Uint64())
		for range 2 { // the second request for a file caches it
			if use(t, tree, name) != nil {
				t.Fatal("an absent file is cached")
			}
		}
	}
	if grown := memory() - before; tree.table.Load() != nil || grown > 1<<20 {
		t.Errorf("%d bytes more", grown)
	}
}

func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestIdleFilesAreForgotten makes no request any more.
func TestIdleFilesAreForgotten(t *testing.T) {
	t.Parallel()
	for keep := range wiretest.LongerLimits(200 * time.Millisecond) {
		if idleFilesAreForgotten(t, keep) {
			return
		}
	}
}

// idleFilesAreForgotten returns false if the machine was so slow that files were forgotten before the test could see that they are kept.
func idleFilesAreForgotten(t *testing.T, keep time.Duration) bool {
	begun := time.Now()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "small"), "x")
	write(t, filepath.Join(dir, "large"), strings.Repeat("x", MaxInMemory+1))
	tree := cached(t, dir, func(s *Settings) { s.Keep = keep })
	original(t, tree, "small")
	original(t, tree, "large")
	b, d := held(tree)
	root := tree.kept.Load()
	if slow := time.Since(begun) > keep/2; b != 1 || d != 1 || root == nil {
		if !slow {
			t.Fatalf("%d bytes, %d descriptors, root %v", b, d, root)
		}
		return false
	}
	for deadline := time.Now().Add(20*time.Second + 2*keep); ; time.Sleep(10 * time.Millisecond) {
		b, d := held(tree)
		if b == 0 && d == 0 && tree.kept.Load() == nil && root.users.Load() == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes, %d descriptors, root %v", b, d, tree.kept.Load())
		}
	}
	tree.mu.Lock()
	armed := tree.armed
	tree.mu.Unlock()
	if armed {
		t.Error("a timer remains")
	}
	if got := original(t, tree, "small"); got != "x" {
		t.Errorf("afterwards: %q", got)
	}
	return true
}

// TestUsedFilesStay uses a file all the time.
func TestUsedFilesStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "x")
	tree := cached(t, dir, func(s *Settings) { s.Keep = 200 * time.Millisecond })
	original(t, tree, "a")
	for try := 0; ; try++ {
		e, used := use(t, tree, "a"), time.Now()
		var longest time.Duration // between two uses; the machine may stop the test for longer than files are kept
		gone := false
		for end := used.Add(time.Second / 2); !gone && time.Now().Before(end); time.Sleep(time.Millisecond) {
			longest = max(longest, time.Since(used))
			used = time.Now()
			gone = tree.Lookup([]byte("a")) != e
		}
		switch {
		case !gone:
			return
		case longest < 75*time.Millisecond || try == 20:
			t.Fatalf("the entry is gone, although it was not used for at most %v", longest)
		}
	}
}

// TestDroppedTree gives the shares of trees back that a program has dropped.
func TestDroppedTree(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "small"), "x")
	write(t, filepath.Join(dir, "large"), strings.Repeat("x", MaxInMemory+1))
	of := func() *account {
		tree := cached(t, dir, nil)
		original(t, tree, "small")
		original(t, tree, "large")
		if b, d := held(tree); b != 1 || d != 1 {
			t.Errorf("%d bytes, %d descriptors", b, d)
		}
		return tree.spent
	}()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		spent.Lock()
		closed, b, d := of.closed, of.bytes, of.descriptors
		spent.Unlock()
		if closed && b == 0 && d == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes, %d descriptors", b, d)
		}
	}
}

// TestSharedOutlivesItsEntry sends a large file whose entry is dropped meanwhile.
func TestSharedOutlivesItsEntry(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), strings.Repeat("x", MaxInMemory+1))
	tree := cached(t, dir, nil)
	original(t, tree, "a")
	e := use(t, tree, "a")
	v := tree.Load(e, 0, nil)
	if !v.Enter() {
		t.Fatal("closed")
	}
	tree.Drop(e)
	if _, err := v.Shared.File.ReadAt(make([]byte, 10), 0); err != nil {
		t.Error(err)
	}
	if v.Enter(); v.Shared.users.Load() == 0 {
		t.Error("closed under its user")
	}
	for v.Shared.users.Load() > 0 {
		v.Shared.Close()
	}
	if _, err := v.Shared.File.Stat(); err == nil {
		t.Error("open without a user")
	}
	if _, now := held(tree); now != 0 {
		t.Errorf("%d descriptors", now)
	}
	if v.Enter() {
		t.Error("a closed file can be used")
	}
}

// TestNoTornContent replaces files while many goroutines use the cache. Each version of a file repeats one byte.
func TestNoTornContent(t *testing.T) {
	dir := t.TempDir()
	tree := cached(t, dir, func(s *Settings) { s.Every = time.Millisecond })
	names := []string{"a", "b", "c", "d"}
	version := func(i int) []byte {
		n := []int{10, 4000, 70_000, MaxInMemory + 5000}[rand.N(4)]
		return bytes.Repeat([]byte{byte('0' + i%70)}, n)
	}
	replace := func(i int) {
		file := filepath.Join(dir, names[i%len(names)])
		if err := os.WriteFile(file+".tmp", version(i), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.Rename(file+".tmp", file); err != nil {
			t.Error(err)
		}
	}
	for i := range names {
		replace(i)
	}
	limit := time.Now().Add(3 * time.Second)
	replacements := 200
	switch {
	case wiretest.Long():
		replacements, limit = 10_000, time.Now().Add(time.Hour)
	case wiretest.Full():
		replacements = 1000
	}
	var done atomic.Bool
	var hits atomic.Int64
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ; !done.Load(); runtime.Gosched() { // a reader that never stops would hold up the replacements
				e := use(t, tree, names[rand.N(len(names))])
				if e == nil {
					continue
				}
				v := tree.Load(e, 0, nil)
				got := content(t, v)
				if v == nil || got == "changed" {
					continue
				}
				hits.Add(1)
				if int64(len(got)) != v.Size || strings.Trim(got, got[:1]) != "" {
					t.Errorf("torn: %d of %d bytes", len(got), v.Size)
					done.Store(true)
				}
			}
		})
	}
	for i := 0; i < replacements && !done.Load() && time.Now().Before(limit); i++ {
		replace(i)
		runtime.Gosched()
	}
	done.Store(true)
	readers.Wait()
	if hits.Load() == 0 {
		t.Error("nothing was cached")
	}
}

// TestLookupDoesNotAllocate measures the path of most requests.
func TestLookupDoesNotAllocate(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "x")
	tree := cached(t, dir, func(s *Settings) { s.Every = time.Hour })
	original(t, tree, "a")
	name := []byte("a")
	if n := testing.AllocsPerRun(100, func() {
		if e := tree.Lookup(name); e == nil || tree.Load(e, 0, nil) == nil {
			t.Error("not cached")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
