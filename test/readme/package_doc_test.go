package readme_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/pagetest"
)

// Every link in the documentation of the package leads to a name that the package exports.
func TestPackageDocumentationNamesWhatIsThere(t *testing.T) {
	t.Chdir(top)
	names := exportedNames(t)
	doc, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\[([A-Z]\w*(?:\.[A-Z]\w*)?)\]`).FindAllStringSubmatch(doc.Doc.Text(), -1)
	if len(links) < 50 {
		t.Errorf("%d links", len(links))
	}
	for _, link := range links {
		if !names[link[1]] {
			t.Errorf("the documentation links to %s, which is not exported", link[1])
		}
	}
}

// exportedNames returns the functions, types, values, methods and fields of the package, the latter two as Type.Name. Promoted ones are left out.
func exportedNames(t *testing.T) map[string]bool {
	names := map[string]bool{}
	//lint:ignore SA1019 all files are to be read, whatever they are built for
	packages, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range packages["gallop"].Files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names[pagetest.ReceiverOf(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					addSpec(names, spec)
				}
			}
		}
	}
	return names
}

func addSpec(names map[string]bool, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			names[name.Name] = true
		}
	case *ast.TypeSpec:
		names[spec.Name.Name] = true
		s, ok := spec.Type.(*ast.StructType)
		if !ok {
			return
		}
		for _, field := range s.Fields.List {
			for _, name := range field.Names {
				names[spec.Name.Name+"."+name.Name] = true
			}
		}
	}
}
