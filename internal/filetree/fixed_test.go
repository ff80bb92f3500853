package filetree

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"
)

//go:embed testdata
var embedded embed.FS

func TestFixedOf(t *testing.T) {
	sub := func(fsys fs.FS, dir string) fs.FS {
		s, err := fs.Sub(fsys, dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	whole, _ := FixedOf(embedded)
	below, ok := FixedOf(sub(embedded, "testdata"))
	if !ok || below == whole {
		t.Errorf("%v %v", below, ok)
	}
	for name, tc := range map[string]struct {
		fsys fs.FS
		want Fixed
		ok   bool
	}{
		"embed.FS":          {embedded, whole, true},
		"a directory of it": {sub(embedded, "testdata"), below, true},
		"another embed.FS":  {embed.FS{}, Fixed{dir: "."}, true},
		"the root":          {sub(embedded, "."), whole, true},
		"a map":             {fstest.MapFS{}, Fixed{}, false},
		"below a map":       {sub(fstest.MapFS{}, "x"), Fixed{}, false},
		"nothing":           {nil, Fixed{}, false},
	} {
		if got, ok := FixedOf(tc.fsys); got != tc.want || ok != tc.ok {
			t.Errorf("%s: %v %v, want %v %v", name, got, ok, tc.want, tc.ok)
		}
	}
	if whole == (Fixed{dir: "."}) {
		t.Error("embed.FS has no files")
	}
}

// fixedTree returns a tree whose files never change, and counts how often each is hashed and opened.
func fixedTree(files fs.FS, hashed *sync.Map) *Tree {
	tree := Of(files, ".")
	tree.fixed = true
	tree.Configure(Settings{Every: -1, Keep: time.Minute, Loader: Loader{
		Siblings: tree, IsNegotiable: func(name string) bool { return strings.HasSuffix(name, ".css") },
		Prepare: func(v *Variant, slot int, _ fs.FileInfo, start []byte) { v.Type = fmt.Sprint(slot, len(start)) },
		Hash: func(r io.Reader) (string, error) {
			b, err := io.ReadAll(r)
			n, _ := hashed.LoadOrStore(string(b), new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			return "hash of " + string(b[:min(len(b), 9)]), err
		},
		IsStale: func(sibling, original time.Time) bool { return sibling.Before(original) },
	}})
	return tree
}

func TestFixedFilesAreHashedOnce(t *testing.T) {
	large := strings.Repeat("x", MaxInMemory+1)
	var hashed sync.Map
	tree := fixedTree(fstest.MapFS{"a.css": {Data: []byte("a")}, "a.css.gz": {Data: []byte("z")}, "large": {Data: []byte(large)}}, &hashed)
	view, err := tree.View()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, name := range []string{"a.css", "a.css.gz", "large"} {
		for range 20 {
			all.Go(func() {
				if hash, err := view.Hash(name); !strings.HasPrefix(hash, "hash of ") || err != nil {
					t.Errorf("%s: %q %v", name, hash, err)
				}
			})
		}
	}
	all.Wait()
	if got := original(t, tree, "a.css"); got != "a" {
		t.Errorf("%q", got)
	}
	e := tree.Lookup([]byte("a.css"))
	if v := tree.Load(e, 0, nil); v.Hash != "hash of a" {
		t.Errorf("hash %q", v.Hash)
	}
	if v := tree.Load(e, 1, []string{".gz"}); content(t, v) != "z" || v.Hash != "hash of z" {
		t.Errorf("sibling %q, hash %q", content(t, v), v.Hash)
	}
	if got := original(t, tree, "large"); got != "not admitted" {
		t.Errorf("a large file: %.20q", got)
	}
	hashed.Range(func(content, n any) bool {
		if n := n.(*atomic.Int64).Load(); n != 1 {
			t.Errorf("%.20q was hashed %d times", content, n)
		}
		return true
	})
	if hash, err := view.Hash("none"); hash != "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %q %v", hash, err)
	}
}

func TestHashesAreBounded(t *testing.T) {
	var hashed sync.Map
	files := fstest.MapFS{}
	const n = MaxHashes + 100
	for i := range n {
		files[fmt.Sprint(i)] = &fstest.MapFile{}
	}
	tree := fixedTree(files, &hashed)
	view, _ := tree.View()
	for i := range n {
		if hash, err := view.Hash(fmt.Sprint(i)); hash == "" || err != nil {
			t.Fatal(hash, err)
		}
	}
	if len(tree.hashes.of) > MaxHashes {
		t.Errorf("remembers %d hashes", len(tree.hashes.of))
	}
}

// TestFixedFilesNeedNoCheck removes a file that was cached. Nothing looks for it.
func TestFixedFilesNeedNoCheck(t *testing.T) {
	files := fstest.MapFS{"a": {Data: []byte("a")}}
	var hashed sync.Map
	tree := fixedTree(files, &hashed)
	original(t, tree, "a")
	delete(files, "a")
	if got := original(t, tree, "a"); got != "a" {
		t.Errorf("%q", got)
	}
}
