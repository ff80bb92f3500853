package pagetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Deprecated returns the names of the package in a directory, as F, T, T.Field and T.Method, whose documentation says
// that they are deprecated.
func Deprecated(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			noteDeprecated(decl, names)
		}
	}
	return names
}

func noteDeprecated(decl ast.Decl, names map[string]bool) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if isDeprecated(decl.Doc) {
			names[ReceiverOf(decl)+decl.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if isDeprecated(spec.Doc) || isDeprecated(decl.Doc) {
						names[name.Name] = true
					}
				}
			case *ast.TypeSpec:
				if isDeprecated(spec.Doc) || isDeprecated(decl.Doc) {
					names[spec.Name.Name] = true
				}
				if s, ok := spec.Type.(*ast.StructType); ok {
					noteFields(spec.Name.Name, s, names)
				}
			}
		}
	}
}

func noteFields(of string, s *ast.StructType, names map[string]bool) {
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			if isDeprecated(field.Doc) {
				names[of+"."+name.Name] = true
			}
		}
	}
}

// ReceiverOf returns the type of a method, with a dot, and nothing for a function.
func ReceiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch at := t.(type) {
		case *ast.StarExpr:
			t = at.X
		case *ast.IndexExpr:
			t = at.X
		case *ast.IndexListExpr:
			t = at.X
		case *ast.Ident:
			return at.Name + "."
		default:
			return ""
		}
	}
}

func isDeprecated(doc *ast.CommentGroup) bool {
	text := "\n" + doc.Text()
	return strings.Contains(text, "\nDeprecated: ")
}
