// Command record prints the exported names of a version of fasthttp, for testdata/api.txt:
//
//	go run ./internal/api/record v1.74.0 >testdata/api.txt
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/valyala/fasthttp/internal/api"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: record VERSION")
	}
	lines, err := record(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(lines, "\n"))
}

// record lists a version from a module in a temporary directory, because in this module the path of fasthttp belongs
// to gallop.
func record(version string) ([]string, error) {
	dir, err := os.MkdirTemp("", "api")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	src := "package p\n"
	for _, p := range api.Packages {
		src += fmt.Sprintf("import _ %q\n", api.Module+p)
	}
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(src), 0o600); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"mod", "init", "p"}, {"get", api.Module + "@" + version}, {"mod", "tidy"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, out)
		}
	}
	return api.List(dir)
}
