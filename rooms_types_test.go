package gallop_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// checkedPackage is a package with its types. Code that depends on a wrong expression has no types.
type checkedPackage struct {
	fset  *token.FileSet
	files []*ast.File
	pkg   *types.Package
	info  *types.Info
	wrong []error // type errors
}

func typeCheck(fset *token.FileSet, files []*ast.File, imports types.Importer) *checkedPackage {
	c := &checkedPackage{fset: fset, files: files}
	c.info = &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: imports, Error: func(err error) { c.wrong = append(c.wrong, err) }}
	c.pkg, _ = config.Check(module, fset, files, c.info)
	return c
}

// platform is one for which files are checked.
type platform struct {
	goos string
	race bool
}

// platforms are those whose files are checked. Together they have every file.
var platforms = []platform{{"linux", false}, {"darwin", true}, {"windows", false}}

// checkedRoots has the root for each platform for which a test has asked.
var checkedRoots struct {
	sync.Mutex
	on      map[platform]*checkedPackage
	imports types.Importer
}

// checkRoot type-checks the root, once for each platform. The tests that share the result do not change it.
func checkRoot(t *testing.T, on platform) *checkedPackage {
	t.Helper()
	roots := &checkedRoots
	roots.Lock()
	defer roots.Unlock()
	if c := roots.on[on]; c != nil {
		return c
	}
	if roots.on == nil {
		roots.imports, roots.on = compiledImports(t), map[platform]*checkedPackage{}
	}
	fset, files := parseFor(t, rootFiles(t), on)
	c := typeCheck(fset, files, roots.imports)
	roots.on[on] = c
	return c
}

// rootFiles are the names of the root's files that are no tests.
func rootFiles(t *testing.T) []string {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, isTest)
}

// parseFor parses those of the files that are built for a platform.
func parseFor(t *testing.T, names []string, on platform) (*token.FileSet, []*ast.File) {
	context := build.Default
	context.GOOS = on.goos
	if on.race {
		context.BuildTags = append(slices.Clone(context.BuildTags), "race")
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if match, err := context.MatchFile(".", name); err != nil {
			t.Fatal(err)
		} else if !match {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return fset, files
}

// compiledImports imports what the root imports, as the compiler has left it in the build cache.
func compiledImports(t *testing.T) types.Importer {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".")
	var complaints bytes.Buffer
	list.Stderr = &complaints
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", list, err, complaints.Bytes())
	}
	exports := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		if name, export, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			exports[name] = export
		}
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) {
		if export, ok := exports[name]; ok {
			return os.Open(export)
		}
		return nil, errors.New("the root does not import " + name)
	})
}
