package filetree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// write makes a file with its directories.
func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read returns the content of a file of a tree, or the error.
func read(tree *Tree, name string) (string, error) {
	view, err := tree.View()
	if err != nil {
		return "", err
	}
	defer view.Release()
	if name, err = view.Find(name); err != nil {
		return "", err
	}
	file, _, err := view.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	b, err := io.ReadAll(file)
	return string(b), err
}

func TestKindsOfTrees(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "b.txt"), "b")
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "secret")
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		if runtime.GOOS != "windows" {
			t.Fatal(err)
		}
		t.Skip("this user may create no symlinks: ", err)
	}
	for _, tc := range []struct {
		name, file string
		tree       *Tree
		want       string // "" if the file does not exist
	}{
		{"below a directory", "a/b.txt", Below(dir), "b"},
		{"below a directory, up", "../" + filepath.Base(dir) + "/a/b.txt", Below(dir), ""},
		{"below a directory, absolute", filepath.Join(dir, "a", "b.txt"), Below(dir), ""},
		{"below a directory, by a link", "link", Below(dir), ""},
		{"below a file", ".", Below(filepath.Join(dir, "a", "b.txt")), "b"},
		{"below a file, another name", "b.txt", Below(filepath.Join(dir, "a", "b.txt")), ""},
		{"below nothing", ".", Below(filepath.Join(dir, "none")), ""},
		{"unconfined", "a/b.txt", Unconfined(dir + "/"), "b"},
		{"unconfined, by a link", "link", Unconfined(dir + "/"), "secret"},
		{"unconfined, up", "../b.txt", Unconfined(dir + "/a/"), ""},
		{"host", filepath.Join(dir, "a", "b.txt"), Host(), "b"},
		{"fs.FS", "b.txt", Of(fstest.MapFS{"a/b.txt": {Data: []byte("b")}}, "a"), "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 3 { // the directory stays open from the second time on
				got, err := read(tc.tree, tc.file)
				if got != tc.want || (err != nil) != (tc.want == "") {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
}

// TestReplacedDirectory serves each name from the directory that is at the path of the tree.
func TestReplacedDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open directory cannot be renamed")
	}
	dir := t.TempDir()
	v1, v2, current := filepath.Join(dir, "v1"), filepath.Join(dir, "v2"), filepath.Join(dir, "current")
	write(t, filepath.Join(v1, "a"), "one")
	write(t, filepath.Join(v2, "a"), "two")
	if err := os.Symlink("v1", current); err != nil {
		t.Fatal(err)
	}
	linked, named := Below(current), Below(v1)
	expect := func(step string, tree *Tree, want string) {
		t.Helper()
		for range 3 {
			if got, _ := read(tree, "a"); got != want {
				t.Errorf("%s: %q, want %q", step, got, want)
			}
		}
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	expect("at first", linked, "one")
	expect("at first", named, "one")
	if err := os.Symlink("v2", current+".new"); err != nil {
		t.Fatal(err)
	}
	rename(current+".new", current)
	expect("the link leads elsewhere", linked, "two")
	rename(v1, v1+".old")
	expect("the directory is gone", named, "")
	rename(v2, v1)
	expect("another directory has its name", named, "two")
	write(t, v2, "a file")
	if got, err := read(linked, "."); got != "a file" {
		t.Errorf("a file has its name: %q, %v", got, err)
	}
}

// TestViewOutlivesReplacement uses a view after the tree has dropped its directory.
func TestViewOutlivesReplacement(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open directory cannot be renamed")
	}
	dir := filepath.Join(t.TempDir(), "d")
	write(t, filepath.Join(dir, "a"), "old")
	tree := Below(dir)
	for range 2 {
		read(tree, "a")
	}
	view, err := tree.View()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a"), "new")
	if got, _ := read(tree, "a"); got != "new" {
		t.Errorf("%q", got)
	}
	if _, err := view.Stat("a"); err != nil {
		t.Error(err)
	}
	root := view.root
	view.Release()
	if n := root.users.Load(); n != 0 {
		t.Errorf("the old directory has %d users", n)
	}
	if _, err := root.Stat("a"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the old directory is open: %v", err)
	}
}

// TestTreeKeepsNothingAfterOneUse makes a tree for each use.
func TestTreeKeepsNothingAfterOneUse(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "a")
	for range 10 {
		tree := Below(dir)
		read(tree, "a")
		if tree.kept.Load() != nil {
			t.Error("the directory is open")
		}
	}
}

// TestReplacementUnderLoad replaces a directory while many goroutines read from it.
func TestReplacementUnderLoad(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("an open directory cannot be renamed")
	}
	dir := t.TempDir()
	for _, v := range []string{"v0", "v1"} {
		write(t, filepath.Join(dir, v, "a"), v)
	}
	current := filepath.Join(dir, "current")
	if err := os.Symlink("v0", current); err != nil {
		t.Fatal(err)
	}
	tree := Below(current)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ; ; runtime.Gosched() { // a reader that never stops would hold up the replacements
				select {
				case <-done:
					return
				default:
				}
				if got, err := read(tree, "a"); err != nil || !strings.HasPrefix(got, "v") {
					t.Errorf("%q, %v", got, err)
					return
				}
			}
		})
	}
	for i := range 500 {
		next := []string{"v0", "v1"}[i%2]
		if err := os.Symlink(next, current+".new"); err != nil {
			t.Error(err)
			break
		}
		if err := os.Rename(current+".new", current); err != nil {
			t.Error(err)
			break
		}
		if got, err := read(tree, "a"); got != next {
			t.Errorf("%q, %v, want %q", got, err, next)
			break
		}
	}
	close(done)
	readers.Wait()
}

func TestErrorsOfFileSystems(t *testing.T) {
	tree := Of(fstest.MapFS{}, "..")
	if _, err := tree.View(); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
