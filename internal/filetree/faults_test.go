package filetree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// touchedFile is a file on which something happens while it is read.
type touchedFile struct {
	*os.File
	touch   func()
	readErr error
	statErr error
}

func (f *touchedFile) Read(b []byte) (int, error) {
	if f.readErr != nil {
		return 0, f.readErr
	}
	n, err := f.File.Read(b)
	f.touch()
	return n, err
}

func (f *touchedFile) Stat() (fs.FileInfo, error) {
	if f.statErr != nil {
		return nil, f.statErr
	}
	return f.File.Stat()
}

// TestBytesOfOneVersion changes a file between the two descriptions that surround reading it.
func TestBytesOfOneVersion(t *testing.T) {
	t.Parallel()
	if !keepsOpen {
		t.Skip("the system has no cache")
	}
	for _, tc := range []struct {
		name  string
		touch func(file string) error
		want  error
	}{
		{"untouched", func(string) error { return nil }, nil},
		{"written over, of the same length", func(f string) error { return os.WriteFile(f, []byte("new"), 0o644) }, errUncached},
		{"grown", func(f string) error {
			to, err := os.OpenFile(f, os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = to.WriteString("er")
				err = errors.Join(err, to.Close())
			}
			return err
		}, errUncached},
		{"shrunk", func(f string) error { return os.Truncate(f, 1) }, errUncached},
		{"written over, with the times of before", func(f string) error {
			info, err := os.Stat(f)
			if err == nil {
				err = errors.Join(os.WriteFile(f, []byte("new"), 0o644), os.Chtimes(f, info.ModTime(), info.ModTime()))
			}
			return err
		}, errUncached},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "a")
			write(t, name, "old")
			time.Sleep(20 * time.Millisecond) // kernels before 6.13 keep the time of a tick
			file, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			info, _ := file.Stat()
			version, _ := versionOf(info)
			data := make([]byte, 3)
			touched := &touchedFile{File: file, touch: func() {
				if err := tc.touch(name); err != nil {
					t.Error(err)
				}
			}}
			if _, err := readVersion(touched, data, version); !errors.Is(err, tc.want) || string(data) != "old" {
				t.Errorf("%q, %v, want %v", data, err, tc.want)
			}
		})
	}
	for _, f := range []*touchedFile{{readErr: syscall.EIO}, {statErr: syscall.EIO}} {
		name := filepath.Join(t.TempDir(), "a")
		write(t, name, "old")
		f.File, _ = os.Open(name)
		f.touch = func() {}
		info, _ := f.File.Stat()
		version, _ := versionOf(info)
		if _, err := readVersion(f, make([]byte, 3), version); !errors.Is(err, syscall.EIO) {
			t.Errorf("%v, want EIO", err)
		}
		f.Close()
	}
}

// brokenDisk is a directory whose files cannot be described or opened while an error is set.
type brokenDisk struct {
	fs.FS
	onStat, onOpen atomic.Pointer[error]
}

func (d *brokenDisk) Stat(name string) (fs.FileInfo, error) {
	if err := d.onStat.Load(); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: *err}
	}
	return fs.Stat(d.FS, name)
}

func (d *brokenDisk) Open(name string) (fs.File, error) {
	if err := d.onOpen.Load(); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: *err}
	}
	return d.FS.Open(name)
}

// TestErrorsAreNotCached lets the disk fail when an entry is made, when its content is read and when it is checked.
func TestErrorsAreNotCached(t *testing.T) {
	if !keepsOpen {
		t.Skip("the system has no cache")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.css"), "a")
	write(t, filepath.Join(dir, "a.css.gz"), "z")
	for _, failure := range []error{syscall.EIO, syscall.EMFILE, syscall.ENFILE, fs.ErrPermission} {
		disk := &brokenDisk{FS: os.DirFS(dir)}
		tree := Of(disk, ".")
		tree.plain = true
		tree.Configure(Settings{Every: -1, Keep: time.Minute, Loader: Loader{
			Siblings: tree, IsNegotiable: func(string) bool { return true },
			Prepare: func(*Variant, int, fs.FileInfo, []byte) {},
			IsStale: func(sibling, original time.Time) bool { return sibling.Before(original) },
		}})
		holds := func(when string, bytes int64) {
			t.Helper()
			if now, _ := held(tree); now != bytes {
				t.Errorf("%v, %s: %d bytes, want %d", failure, when, now, bytes)
			}
		}
		disk.onStat.Store(&failure)
		if got := original(t, tree, "a.css"); got != "not admitted" {
			t.Errorf("%v: %q without a description", failure, got)
		}
		disk.onStat.Store(nil)
		disk.onOpen.Store(&failure)
		if got := original(t, tree, "a.css"); got != "not cached" {
			t.Errorf("%v: %q without opening", failure, got)
		}
		e := use(t, tree, "a.css")
		if got := content(t, tree.Load(e, 1, []string{".gz"})); got != "not cached" {
			t.Errorf("%v: sibling %q without opening", failure, got)
		}
		holds("while files cannot be opened", 0)
		disk.onOpen.Store(nil)
		disk.onStat.Store(&failure)
		if got := content(t, tree.Load(e, 1, []string{".gz"})); got != "not cached" {
			t.Errorf("%v: sibling %q without a description, want neither its content nor its absence", failure, got)
		}
		disk.onStat.Store(nil)
		if got, sibling := original(t, tree, "a.css"), content(t, tree.Load(e, 1, []string{".gz"})); got != "a" || sibling != "z" {
			t.Errorf("%v: %q and %q afterwards", failure, got, sibling)
		}
		holds("afterwards", 2)
		disk.onStat.Store(&failure)
		if tree.Lookup([]byte("a.css")) != nil {
			t.Errorf("%v: an entry that cannot be checked is used", failure)
		}
		holds("after a check that failed", 0)
		disk.onStat.Store(nil)
		if got := original(t, tree, "a.css"); got != "a" {
			t.Errorf("%v: %q in the end", failure, got)
		}
	}
}

// TestRootSwappedDuringLoad replaces the directory of an entry while its content is read. Such an entry cannot be removed
// yet, but no request gets it.
func TestRootSwappedDuringLoad(t *testing.T) {
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
	loading, swapped := make(chan bool), make(chan bool)
	tree := cached(t, current, func(s *Settings) {
		s.Every = time.Hour
		s.Loader.Prepare = func(v *Variant, _ int, _ fs.FileInfo, _ []byte) {
			if string(v.Data) == "v1" {
				close(loading)
				<-swapped
			}
		}
	})
	use(t, tree, "a")
	use(t, tree, "a")
	e := use(t, tree, "a")
	if e == nil {
		t.Fatal("not admitted")
	}
	loaded := make(chan *Variant)
	go func() { loaded <- tree.Load(e, 0, nil) }()
	<-loading
	os.Symlink("v2", current+".new")
	if err := os.Rename(current+".new", current); err != nil {
		t.Fatal(err)
	}
	tree.expire()
	if view, err := tree.View(); err != nil { // finds the other directory
		t.Error(err)
	} else {
		view.Release()
	}
	for range 3 { // the third use finds an entry that was made meanwhile
		if got := tree.Lookup([]byte("a")); got == e {
			t.Error("the entry of the directory that was replaced is used")
		}
		use(t, tree, "a")
	}
	close(swapped)
	<-loaded
	if got := original(t, tree, "a"); got != "v2" {
		t.Errorf("%q after the directory was replaced", got)
	}
	if now, _ := held(tree); now != 2 {
		t.Errorf("holds %d bytes", now)
	}
}

// TestSiblingChangesWhileItIsLoaded changes a sibling while a first request loads it. A second request, which begins after
// the change, must not get the content from before.
func TestSiblingChangesWhileItIsLoaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sibling := filepath.Join(dir, "a.css.gz")
	write(t, filepath.Join(dir, "a.css"), "a")
	write(t, sibling, "1")
	time.Sleep(20 * time.Millisecond) // kernels before 6.13 keep the time of a tick
	loading, changed := make(chan bool), make(chan bool)
	tree := cached(t, dir, func(s *Settings) {
		s.Loader.Prepare = func(v *Variant, slot int, _ fs.FileInfo, _ []byte) {
			if slot == 1 && string(v.Data) == "1" {
				close(loading)
				<-changed
			}
		}
	})
	use(t, tree, "a.css")
	use(t, tree, "a.css")
	e := use(t, tree, "a.css")
	suffixes := []string{".gz"}
	first, second := make(chan *Variant), make(chan *Variant)
	go func() { first <- tree.Load(e, 1, suffixes) }()
	<-loading
	write(t, sibling, "9")
	go func() {
		if e := use(t, tree, "a.css"); e != nil {
			second <- tree.Load(e, 1, suffixes)
		}
		close(second)
	}()
	time.Sleep(20 * time.Millisecond) // lets the second request find the entry, if it does not wait
	close(changed)
	if got := content(t, <-first); got != "1" {
		t.Errorf("the first request gets %q", got)
	}
	if got := content(t, <-second); got == "1" {
		t.Error("the second request gets the content from before the change")
	}
	for e = nil; e == nil; e = use(t, tree, "a.css") {
	}
	if got := content(t, tree.Load(e, 1, suffixes)); got != "9" {
		t.Errorf("%q afterwards", got)
	}
}
