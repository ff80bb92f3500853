package fasthttp

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

const gallopPath = "github.com/gallop-http/gallop"

// A program that replaces fasthttp with this module may use gallop as well, so this module must not change gallop's
// behavior. It sets no variables of gallop's packages, and calls none of their functions at program start. Where
// programs for fasthttp need different behavior, gallop has a field whose zero value means fasthttp's behavior.
func TestLeavesTheVariablesOfGallopAlone(t *testing.T) {
	files := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "internal":
			return fs.SkipDir
		case path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files++
		for _, complaint := range meddling(t, string(src)) {
			t.Errorf("%s: %s", name, complaint)
		}
		return nil
	})
	if err != nil || files < 20 {
		t.Errorf("%d files, %v", files, err)
	}
}

// The test notices violations.
func TestLeavesTheVariablesOfGallopAloneNotices(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       int
	}{
		{"a name for a variable", "var Count = gallop.Count", 0},
		{"a function is called", "func f() int { return gallop.Get() }", 0},
		{"a variable of its own is set", "var Count = gallop.Count\nfunc f() { Count = 1 }", 0},
		{"a value is made", "func f() { p := &gallop.Proxy{URL: gallop.Count}; p.Name = 1 }", 0},
		{"set", "func f() { gallop.Count = 1 }", 1},
		{"set with others", "func f() { var x int; x, gallop.Count = 1, 2 }", 1},
		{"set by a loop", "func f() { for gallop.Count = range 3 {} }", 1},
		{"increased", "func f() { gallop.Count++ }", 1},
		{"a field is set", "func f() { (gallop.Default).Size = 1 }", 1},
		{"an element is set", "func f() { gallop.Names[0] = \"\" }", 1},
		{"what it points to is set", "func f() { *gallop.Pointer = 1 }", 1},
		{"pointed to", "var Count = &gallop.Count", 1},
		{"a method is called", "func f() { gallop.Default.SetSize(1) }", 1},
		{"set while variables are made", "var _ = func() int { gallop.Count = 1; return 1 }()", 1},
		{"a setter is called while variables are made", "var _ = gallop.SetCount(1)", 1},
		{"an init function", "func init() { gallop.SetCount(1) }", 1},
		{"linked", "//go:linkname count " + gallopPath + ".count\nvar count int", 1},
	} {
		if found := meddling(t, "package a\nimport \""+gallopPath+"\"\n"+tt.body); len(found) != tt.want {
			t.Errorf("%s: %q", tt.name, found)
		}
	}
	if found := meddling(t, "package a\nimport g \""+gallopPath+"/prefork\"\nfunc f() { g.Count = 1 }"); len(found) != 1 {
		t.Errorf("another package under another name: %q", found)
	}
}

// meddling returns the parts of a file that could change gallop.
func meddling(t *testing.T, src string) (found []string) {
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	packages := importsOf(f)
	complain := func(what string, exprs ...ast.Expr) {
		for _, e := range exprs {
			if name := packages.variable(e); name != "" {
				found = append(found, what+" "+name)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			complain("sets", n.Lhs...)
		case *ast.RangeStmt:
			complain("sets", n.Key, n.Value)
		case *ast.IncDecStmt:
			complain("sets", n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				complain("points to", n.X)
			}
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok {
				complain("calls a method of", method.X)
			}
		case *ast.Comment:
			if strings.HasPrefix(n.Text, "//go:linkname") {
				found = append(found, n.Text)
			}
		}
		return true
	})
	return append(found, packages.startup(f)...)
}

// packages holds the names under which a file imports gallop's packages.
type packages map[string]bool

func importsOf(f *ast.File) packages {
	names := packages{}
	for _, spec := range f.Imports {
		if imported := strings.Trim(spec.Path.Value, `"`); strings.HasPrefix(imported+"/", gallopPath+"/") {
			names[path.Base(imported)] = true
			if spec.Name != nil {
				names[spec.Name.Name] = true
			}
		}
	}
	return names
}

// variable returns the exported name at the start of an operand: gallop.Names for (gallop.Names)[0].
func (p packages) variable(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && p[x.Name] {
			return x.Name + "." + e.Sel.Name
		}
		return p.variable(e.X)
	case *ast.IndexExpr:
		return p.variable(e.X)
	case *ast.StarExpr:
		return p.variable(e.X)
	case *ast.ParenExpr:
		return p.variable(e.X)
	}
	return ""
}

// startup returns the code that runs at program start.
func (p packages) startup(f *ast.File) (found []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				found = append(found, "has an init function")
			}
		case *ast.GenDecl:
			ast.Inspect(d, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && p.variable(call.Fun) != "" {
					found = append(found, fmt.Sprintf("calls %s when a program starts", p.variable(call.Fun)))
				}
				return true
			})
		}
	}
	return found
}
