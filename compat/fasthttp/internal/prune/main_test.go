package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Tests that need missing names are removed, with everything that needs them. Lines keep their numbers.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"go.mod":     "module example.com/p\n\ngo 1.25\n",
		"sub/sub.go": "package sub\n\nfunc Exported() int { return 1 }\n",
		"sub/a_test.go": `package sub

import (
	"strings"
	"testing"
)

func TestKept(t *testing.T) { t.Log(Exported()) }

// TestGone needs what is missing.
func TestGone(t *testing.T) {
	t.Log(strings.ToUpper("x"), missing)
}

func helper() int { return absent() + 1 }

func TestGoneToo(t *testing.T) { t.Log(helper()) }

var (
	kept = Exported()
	gone = missing
)

func TestKeptToo(t *testing.T) { t.Log(kept) }
`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := prune("sub"); err != nil {
		t.Fatal(err)
	}
	if left := compile("sub"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	text, err := os.ReadFile("sub/a_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"TestKept(", "kept = Exported()", "TestKeptToo("} {
		if !strings.Contains(string(text), word) {
			t.Errorf("%s is gone", word)
		}
	}
	for _, word := range []string{"TestGone(", "helper()", "TestGoneToo(", "gone =", `"strings"`} {
		if strings.Contains(string(text), word) {
			t.Errorf("%s is left", word)
		}
	}
	if n := strings.Count(string(text), "\n"); n != 24 {
		t.Errorf("%d lines", n)
	}
}
