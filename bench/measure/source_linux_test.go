package measure

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Results of a tree that differs from its commit are marked, or refused if they are to be saved. Results themselves do not
// make a tree dirty.
func TestCommit(t *testing.T) {
	script, err := os.ReadFile("../commit.sh")
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = tree
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write("bench/commit.sh", string(script))
	write("server.go", "package server\n")
	write("bench/results/old.txt", "1\n")
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	t.Chdir(filepath.Join(tree, "bench"))

	for _, step := range []struct {
		name, file string
		dirty      bool
	}{
		{"a result was saved before", "bench/results/new.txt", false},
		{"a result has changed", "bench/results/old.txt", false},
		{"the server has changed", "server.go", true},
	} {
		write(step.file, "changed\n")
		commit, err := Commit(false)
		if err != nil || commit == "" || strings.HasSuffix(commit, "-dirty") != step.dirty {
			t.Errorf("%s: commit %q, %v", step.name, commit, err)
		}
		if _, err := Commit(true); (err != nil) != step.dirty {
			t.Errorf("%s: saving: %v", step.name, err)
		}
	}
	git("checkout", "-q", "server.go")
	write("new.go", "package server\n")
	if _, err := Commit(true); err == nil || !strings.Contains(err.Error(), "commit first") {
		t.Errorf("a new file: saving: %v", err)
	}
}
