// Rewrite prepares net/http's own tests, and those of httputil and httptest, to run on gallop:
//
//	rewrite DIR
//
// It reads the sources of the standard library in GOROOT and writes to DIR:
//
//	overlay.json          for go test -overlay: net/http with methods that first call a hook
//	http, httputil, ...   the tests, which import replacements for internal packages
//
// DIR must be a copy of this module, because the tests import its packages.
package main

import (
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("rewrite: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: rewrite DIR")
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	check(err)
	dir, err := filepath.Abs(os.Args[1])
	check(err)
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	writeOverlay(src, dir)
	copyTests(src, dir)
}

func read(path ...string) string {
	b, err := os.ReadFile(filepath.Join(path...))
	check(err)
	return string(b)
}

func write(text string, path ...string) {
	name := filepath.Join(path...)
	check(os.MkdirAll(filepath.Dir(name), 0o755))
	check(os.WriteFile(name, []byte(text), 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
