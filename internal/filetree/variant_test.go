package filetree

import (
	"bytes"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// makingTree returns a tree whose variants are the original in upper case, and how many were made. Originals of digits are not
// worthwhile.
func makingTree(t testing.TB, dir string, change func(*Settings)) (*Tree, *atomic.Int64) {
	made := new(atomic.Int64)
	return cached(t, dir, func(s *Settings) {
		s.Loader.Encode = func(original *Variant, slot int, data []byte) *Variant {
			made.Add(1)
			if data[0] < 'A' {
				return &Variant{Absent: true}
			}
			return &Variant{Data: bytes.ToUpper(data), Size: original.Size}
		}
		if change != nil {
			change(s)
		}
	}), made
}

// admitted returns the entry of a name with its original.
func admitted(t testing.TB, tree *Tree, name string) *Entry {
	t.Helper()
	for range 3 {
		if e := use(t, tree, name); e != nil {
			if tree.Load(e, 0, nil) == nil {
				t.Fatalf("the original of %s is not cached", name)
			}
			return e
		}
	}
	t.Fatalf("%s is not cached", name)
	return nil
}

func TestVariantIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "abc")
	tree, made := makingTree(t, dir, func(s *Settings) {
		encode := s.Loader.Encode
		s.Loader.Encode = func(original *Variant, slot int, data []byte) *Variant {
			time.Sleep(20 * time.Millisecond) // until the other callers wait
			return encode(original, slot, data)
		}
	})
	e := admitted(t, tree, "a")
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if got := content(t, tree.Make(e, 1)); got != "ABC" {
				t.Errorf("%q", got)
			}
		})
	}
	wg.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
	if tree.Make(e, 2) == tree.Make(e, 1) || made.Load() != 2 {
		t.Errorf("two slots share a variant; made %d times", made.Load())
	}
	if n, _ := held(tree); n != 3*3 {
		t.Errorf("%d bytes are counted, want the original and two variants", n)
	}
	tree.Drop(e)
	if n, _ := held(tree); n != 0 {
		t.Errorf("%d bytes stay", n)
	}
}

func TestMadeVariantFollowsTheOriginal(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 3, "large": MaxInMemory + 1} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, letter := range []string{"a", "b", "c"} {
				write(t, filepath.Join(dir, "f"), strings.Repeat(letter, size))
				tree, _ := makingTree(t, dir, nil)
				e := admitted(t, tree, "f")
				if got, want := content(t, tree.Make(e, 1)), strings.Repeat(strings.ToUpper(letter), size); got != want {
					t.Fatalf("%d: %.10q, want %.10q", i, got, want)
				}
				time.Sleep(20 * time.Millisecond) // so that the change has another time
				write(t, filepath.Join(dir, "f"), strings.Repeat("z", size))
				e = admitted(t, tree, "f")
				if got, want := content(t, tree.Make(e, 1)), strings.Repeat("Z", size); got != want {
					t.Fatalf("%d: %.10q after a change, want %.10q", i, got, want)
				}
			}
		})
	}
}

func TestNoVariantOfContentThatHasChanged(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	write(t, name, strings.Repeat("a", MaxInMemory+1))
	tree, made := makingTree(t, dir, func(s *Settings) { s.Every = time.Hour })
	e := admitted(t, tree, "f")
	time.Sleep(20 * time.Millisecond) // so that the change has another time
	write(t, name, strings.Repeat("b", MaxInMemory+1))
	if v := tree.Make(e, 1); v != nil || made.Load() != 0 {
		t.Errorf("made %.10q of another version", v.Data)
	}
}

func TestVariantThatIsNotWorthwhileIsRemembered(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "123")
	tree, made := makingTree(t, dir, nil)
	e := admitted(t, tree, "a")
	for range 3 {
		if got := content(t, tree.Make(e, 1)); got != "absent" {
			t.Errorf("%q", got)
		}
	}
	if made.Load() != 1 {
		t.Errorf("tried %d times", made.Load())
	}
}

func TestVariantsStayWithinTheBounds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "abc")
	tree, made := makingTree(t, dir, nil)
	e := admitted(t, tree, "a")
	spent.Lock()
	rest := MaxBytes - spent.bytes
	spent.bytes += rest
	spent.Unlock()
	e.mu.Lock() // so that the entry itself does not make room
	full := tree.Make(e, 1)
	e.mu.Unlock()
	spent.Lock()
	spent.bytes -= rest
	spent.Unlock()
	if got := content(t, full); got != "ABC" {
		t.Errorf("without room, the caller gets %q", got)
	}
	if n, _ := held(tree); n != 3 || made.Load() != 1 {
		t.Errorf("%d bytes are counted, made %d times", n, made.Load())
	}
	if tree.Make(e, 1) == full {
		t.Error("the variant was kept without room for it")
	}
}

func TestVariantOfADroppedEntryIsNotKept(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "abc")
	tree, _ := makingTree(t, dir, nil)
	e := admitted(t, tree, "a")
	tree.Drop(e)
	if got := content(t, tree.Make(e, 1)); got != "ABC" {
		t.Errorf("%q", got)
	}
	if n, _ := held(tree); n != 0 {
		t.Errorf("%d bytes stay", n)
	}
}

func TestFewVariantsAreMadeAtATime(t *testing.T) {
	dir := t.TempDir()
	release := make(chan struct{})
	tree, made := makingTree(t, dir, func(s *Settings) {
		encode := s.Loader.Encode
		s.Loader.Encode = func(original *Variant, slot int, data []byte) *Variant {
			v := encode(original, slot, data)
			<-release
			return v
		}
	})
	var wg sync.WaitGroup
	for i := range MaxMaking {
		name := string(rune('a' + i))
		write(t, filepath.Join(dir, name), "abc")
		e := admitted(t, tree, name)
		wg.Go(func() { tree.Make(e, 1) })
	}
	for made.Load() < MaxMaking {
		time.Sleep(time.Millisecond)
	}
	write(t, filepath.Join(dir, "more"), "abc")
	if v := tree.Make(admitted(t, tree, "more"), 1); v != nil {
		t.Error("one more was made")
	}
	close(release)
	wg.Wait()
	if got := content(t, tree.Make(admitted(t, tree, "more"), 1)); got != "ABC" {
		t.Errorf("later: %q", got)
	}
}
