package packages_test

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop/internal/pagetest"
)

// recordAPI is the environment variable with which TestAPI writes the lists
// instead of comparing them:
//
//	GALLOP_RECORD_API=1 go test -run 'TestAPI$' ./test/packages
const recordAPI = "GALLOP_RECORD_API"

// module is the path of the module, top its directory.
const (
	module = "github.com/gallop-http/gallop"
	top    = "../.."
)

// TestAPI compares the exported API of each public package with its list in
// testdata/api, so that a change of the API is a visible line in a diff.
func TestAPI(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the lists are those of Linux; the public API is the same on each system but for listen's options")
	}
	for _, p := range loadPublic(t) {
		file := filepath.Join(top, "testdata", "api", apiFile(p.Path()))
		have := strings.Join(apiOf(p, pagetest.Deprecated(t, filepath.Join(top, strings.TrimPrefix(p.Path(), module)))), "\n") + "\n"
		if os.Getenv(recordAPI) != "" {
			if err := os.WriteFile(file, []byte(have), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		recorded, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		for _, line := range changedLines(string(recorded), have) {
			t.Errorf("%s: %s", file, line)
		}
	}
	if t.Failed() {
		t.Logf("If you mean to change the API, record it, and describe the change in CHANGELOG.md:\n\t%s=1 go test -run 'TestAPI$' ./test/packages", recordAPI)
	}
}

// No list may be left behind by a package that is gone.
func TestAPIListsHavePackages(t *testing.T) {
	files, err := os.ReadDir(filepath.Join(top, "testdata", "api"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	packages, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range packages.public {
		want = append(want, apiFile(path))
	}
	for _, f := range files {
		if !slices.Contains(want, f.Name()) {
			t.Errorf("testdata/api/%s is no public package's list", f.Name())
		}
	}
}

// TestAPI notices what is added, what is removed, and what becomes deprecated.
func TestAPINotices(t *testing.T) {
	recorded := "func Get(a int)\nfunc Put()\nfunc Post()\n"
	have := "func Get(a string)\nfunc Post() // Deprecated\nfunc Put()\n"
	want := []string{"- func Get(a int)", "+ func Get(a string)", "- func Post()", "+ func Post() // Deprecated"}
	got := changedLines(recorded, have)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// changedLines returns the lines that only one of two lists has.
func changedLines(recorded, have string) (changed []string) {
	was, is := strings.Split(recorded, "\n"), strings.Split(have, "\n")
	for _, line := range was {
		if !slices.Contains(is, line) {
			changed = append(changed, "- "+line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			changed = append(changed, "+ "+line)
		}
	}
	return changed
}

// compiled has the packages of this module that users can import, and the files of export data of these packages and of what they
// import.
type compiled struct {
	public  []string
	exports map[string]string
}

// compile has the go command compile the packages of this module, once.
var compile = sync.OnceValues(func() (c compiled, err error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f",
		`{{.ImportPath}}{{"\t"}}{{.Export}}{{"\t"}}{{if and (not .DepOnly) .GoFiles (ne .Name "main")}}public{{end}}`, module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return c, fmt.Errorf("%v: %w\n%s", cmd, err, stderr.Bytes())
	}
	c.exports = map[string]string{}
	for line := range strings.Lines(string(out)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		c.exports[part[0]] = part[1]
		if part[2] != "" && !slices.Contains(strings.Split(part[0], "/"), "internal") {
			c.public = append(c.public, part[0])
		}
	}
	return c, nil
})

// apiFile returns the name of the list of a package.
func apiFile(path string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	if name == "" {
		name = "gallop"
	}
	return strings.ReplaceAll(name, "/", "_") + ".txt"
}

// loadPublic returns the types of the public packages.
func loadPublic(t *testing.T) (loaded []*types.Package) {
	t.Helper()
	packages, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(packages.exports[path]) }
	imports := importer.ForCompiler(token.NewFileSet(), "gc", open)
	for _, path := range packages.public {
		pkg, err := imports.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		loaded = append(loaded, pkg)
	}
	return loaded
}

// apiOf returns a sorted line for each name that p exports: functions, types, their
// fields and methods, variables, and constants with their values.
func apiOf(p *types.Package, deprecated map[string]bool) (lines []string) {
	qualify := func(other *types.Package) string {
		if other == p {
			return ""
		}
		return other.Path()
	}
	add := func(name, format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		if deprecated[name] {
			line += " // Deprecated"
		}
		lines = append(lines, line)
	}
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.Const:
			add(name, "const %s %s = %s", name, types.TypeString(object.Type(), qualify), object.Val().ExactString())
		case *types.TypeName:
			addType(object, qualify, add)
		default: // a variable or a function
			add(name, "%s", types.ObjectString(object, qualify))
		}
	}
	slices.Sort(lines)
	return lines
}

// addType adds the lines of a type. An interface is one line: a further method breaks
// those who implement it. An alias of another type has that type's fields and methods.
func addType(object *types.TypeName, qualify types.Qualifier, add func(name, format string, args ...any)) {
	name, t := object.Name(), object.Type()
	if object.IsAlias() {
		add(name, "%s", types.ObjectString(object, qualify))
		return
	}
	if under, ok := t.Underlying().(*types.Struct); ok {
		add(name, "type %s struct", strings.TrimPrefix(types.TypeString(t, qualify), "."))
		for field := range under.Fields() {
			if field.Exported() {
				add(name+"."+field.Name(), "field %s.%s %s", name, field.Name(), types.TypeString(field.Type(), qualify))
			}
		}
	} else {
		add(name, "type %s %s", types.TypeString(t, qualify), types.TypeString(t.Underlying(), qualify))
	}
	if types.IsInterface(t) {
		return
	}
	for method := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if f := method.Obj(); f.Exported() {
			add(name+"."+f.Name(), "method %s.%s%s", name, f.Name(), strings.TrimPrefix(types.TypeString(f.Type(), qualify), "func"))
		}
	}
}
