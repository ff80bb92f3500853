// Command prune removes code that does not compile from the test files below the working directory, package by
// package: the declarations with errors, declarations that need them, and unused imports. It prints a line for each
// removed declaration: package, name and the first error.
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	var dirs []string
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, "_test.go") {
			dirs = append(dirs, filepath.Dir(name))
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, dir := range slices.Compact(dirs) {
		if err := prune(dir); err != nil {
			log.Fatalf("%s: %v", dir, err)
		}
	}
}

// rounds is the maximum number of passes, since a removed declaration may break others.
const rounds = 50

func prune(dir string) error {
	for range rounds {
		complaints := compile(dir)
		if len(complaints) == 0 {
			return nil
		}
		for file, lines := range complaints {
			if err := cut(dir, file, lines); err != nil {
				return err
			}
		}
	}
	return errors.New("the tests do not compile, whatever is removed")
}

var complaint = regexp.MustCompile(`(?m)^(?:vet: )?(\S+_test\.go):(\d+):\d+: (.*)$`)

// compile returns the errors in test files, by file and line.
func compile(dir string) map[string]map[int]string {
	cmd := exec.Command("go", "test", "-c", "-o", os.DevNull, "-vet=off", "-gcflags=-e", "./"+dir)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	found := map[string]map[int]string{}
	for _, m := range complaint.FindAllStringSubmatch(string(out), -1) {
		file := filepath.Clean(m[1])
		line, _ := strconv.Atoi(m[2])
		if found[file] == nil {
			found[file] = map[int]string{}
		}
		found[file][line] = m[3]
	}
	if len(found) == 0 {
		log.Fatalf("%s\n%s", dir, out)
	}
	return found
}

// cut removes the declarations on these lines from a file.
func cut(dir, file string, lines map[int]string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		for _, part := range parts(decl) {
			why := whyOf(lines, fset.Position(part.Pos()).Line, fset.Position(part.End()).Line)
			if why == "" {
				continue
			}
			fmt.Printf("%s %s: %s\n", dir, nameOf(part), why)
			blank(src[fset.Position(part.Pos()).Offset:fset.Position(part.End()).Offset])
		}
	}
	return os.WriteFile(file, src, 0o600)
}

// parts returns the parts of a declaration that can be removed separately.
func parts(decl ast.Decl) []ast.Node {
	group, ok := decl.(*ast.GenDecl)
	if !ok || !group.Lparen.IsValid() {
		return []ast.Node{decl}
	}
	var specs []ast.Node
	for _, spec := range group.Specs {
		specs = append(specs, spec)
	}
	return specs
}

func whyOf(lines map[int]string, first, last int) string {
	for line := first; line <= last; line++ {
		if why := lines[line]; why != "" {
			return why
		}
	}
	return ""
}

func nameOf(part ast.Node) string {
	switch part := part.(type) {
	case *ast.FuncDecl:
		return part.Name.Name
	case *ast.ImportSpec:
		return part.Path.Value
	case *ast.ValueSpec:
		return part.Names[0].Name
	case *ast.TypeSpec:
		return part.Name.Name
	case *ast.GenDecl:
		return nameOf(part.Specs[0])
	}
	return "?"
}

// blank replaces everything in text except line ends with blanks.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}
