package examples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// maxLines is how many lines a program has that is one file.
const maxLines = 100

// TestPrograms looks at the size of each program, and for its row in the README.
func TestPrograms(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		dir := filepath.Dir(name)
		if !bytes.Contains(readme, []byte("\n| [`"+dir+"`]")) {
			t.Errorf("README.md has no row for %s", dir)
		}
		if filepath.Base(name) != "main.go" {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(source, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}

// snippet is a section of the README with commands and what they print.
var snippet = regexp.MustCompile("(?s)\n```sh\ngo run \\./(\\w+)([^\n]*)\n([^`]*)```\n\nprints\n\n```\n([^`]*)```\n")

// TestReadme starts the programs of the README, runs the commands and compares what they print.
func TestReadme(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl: install it to run the commands of the README")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := snippet.FindAllStringSubmatch(string(readme), -1)
	if len(found) < 6 {
		t.Errorf("only %d snippets", len(found))
	}
	for _, s := range found {
		t.Run(s[1], func(t *testing.T) {
			addr := start(t, s[1], strings.Fields(s[2]))
			shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.ReplaceAll(s[3], "127.0.0.1:8080", addr))
			shell.Dir = t.TempDir()
			out, err := shell.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !same(string(out), s[4]) {
				t.Errorf("the commands print\n%s\nand not\n%s", out, s[4])
			}
		})
	}
}

var listening = regexp.MustCompile(`listening network=tcp addr=(\S+)`)

// start builds and starts a program on a free port, and returns its address.
func start(t *testing.T, name string, args []string) (addr string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, name+".exe")
	if out, err := exec.Command("go", "build", "-o", binary, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if i := slices.Index(args, "-addr"); i >= 0 {
		args = slices.Delete(args, i, i+2)
	}
	program := exec.Command(binary, append(args, "-addr", "127.0.0.1:0")...)
	program.Stderr = log
	program.Env = append(os.Environ(), "TMPDIR="+dir) // where uploads go
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		program.Process.Kill()
		program.Wait()
	})
	for range 6000 {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		if found := listening.FindSubmatch(text); found != nil {
			return string(found[1])
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the program does not listen")
	return ""
}

// same compares texts of which "…" stands for anything within a line.
func same(got, want string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", "[^\n]*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}
