package gallop_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/design/0010-exchange.md lists what the HTTP/1 wire and the HTTP/2 wire both call. These tests keep the list true: each
// name is a function, a method of exchange or a type, and the code of each wire uses it, directly or through code that belongs
// to no wire.

// wires are the wires by the prefix of their files, with the types whose methods belong to them wherever they are declared.
var wires = map[string][]string{
	"h1_": {"serverConn"},
	"h2_": {"h2Conn", "h2Stream"},
}

// TestWiresShareTheirExchange checks the list on each platform.
func TestWiresShareTheirExchange(t *testing.T) {
	page, err := os.ReadFile("docs/design/0010-exchange.md")
	if err != nil {
		t.Fatal(err)
	}
	names := sharedNames(string(page))
	if len(names) < 20 {
		t.Fatalf("the list has only %q", names)
	}
	for _, on := range platforms {
		for _, complaint := range notShared(checkRoot(t, on), names) {
			t.Errorf("%s: %s", on.goos, complaint)
		}
	}
}

// sharedNames returns the names in the first column of the list.
func sharedNames(page string) (names []string) {
	_, list, _ := strings.Cut(page, "\n### What both wires call\n")
	list, _, _ = strings.Cut(list, "\n### ")
	for line := range strings.Lines(list) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, name := range regexp.MustCompile("`([A-Za-z0-9]+)`").FindAllStringSubmatch(cells[1], -1) {
			names = append(names, name[1])
		}
	}
	return names
}

// wireUses is what the functions of a package use.
type wireUses struct {
	c     *checkedPackage
	decls map[token.Pos]*ast.FuncDecl   // by the position of the name
	types map[token.Pos]*ast.TypeSpec   // by the position of the name
	used  map[*ast.FuncDecl][]token.Pos // names of functions, types, fields and methods
}

func newWireUses(c *checkedPackage) *wireUses {
	u := &wireUses{c, map[token.Pos]*ast.FuncDecl{}, map[token.Pos]*ast.TypeSpec{}, map[*ast.FuncDecl][]token.Pos{}}
	for _, file := range c.files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				u.decls[decl.Name.Pos()] = decl
				u.used[decl] = u.usesOf(decl)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						u.types[spec.Name.Pos()] = spec
					}
				}
			}
		}
	}
	return u
}

func (u *wireUses) usesOf(decl *ast.FuncDecl) (at []token.Pos) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok {
			if used := u.c.info.Uses[ident]; used != nil && used.Pkg() == u.c.pkg {
				if f, ok := used.(*types.Func); ok {
					used = f.Origin()
				}
				at = append(at, used.Pos())
			}
		}
		return true
	})
	return at
}

// receiver returns the name of the type whose method a function is, "" if it is not a method.
func receiver(decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return ""
	}
	of := decl.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if ident, ok := of.(*ast.Ident); ok {
		return ident.Name
	}
	return ""
}

// wireOf returns the wire to which a function belongs, "" if it belongs to no wire.
func (u *wireUses) wireOf(decl *ast.FuncDecl) string {
	file := filepath.Base(u.c.fset.Position(decl.Pos()).Filename)
	for prefix, receivers := range wires {
		if strings.HasPrefix(file, prefix) || slices.Contains(receivers, receiver(decl)) {
			return prefix
		}
	}
	return ""
}

// reach returns the positions of all names that the functions of a wire use, and the functions that these call, except for
// functions of another wire.
func (u *wireUses) reach(wire string) map[token.Pos]bool {
	reached := map[token.Pos]bool{}
	var todo []*ast.FuncDecl
	for _, decl := range u.decls {
		if u.wireOf(decl) == wire {
			todo = append(todo, decl)
		}
	}
	for len(todo) > 0 {
		decl := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, pos := range u.used[decl] {
			next := u.decls[pos]
			if !reached[pos] && next != nil && u.wireOf(next) == "" {
				todo = append(todo, next)
			}
			reached[pos] = true
		}
	}
	return reached
}

// named returns the positions that stand for a name of the list: a function, a method of exchange, or a type with its fields and
// methods.
func (u *wireUses) named(name string, all map[token.Pos]bool) (at []token.Pos) {
	for pos, decl := range u.decls {
		if of := receiver(decl); decl.Name.Name == name && (decl.Recv == nil || of == "exchange") || of == name {
			at = append(at, pos)
		}
	}
	for pos, spec := range u.types {
		if spec.Name.Name != name {
			continue
		}
		at = append(at, pos)
		for field := range all {
			if spec.Pos() <= field && field < spec.End() {
				at = append(at, field)
			}
		}
	}
	return at
}

// notShared returns what is wrong with a list of names that both wires use.
func notShared(c *checkedPackage, names []string) (broken []string) {
	u := newWireUses(c)
	for prefix := range wires {
		reached := u.reach(prefix)
		for _, name := range names {
			switch at := u.named(name, reached); {
			case len(at) == 0:
				broken = append(broken, fmt.Sprintf("%s is no function, no method of exchange and no type", name))
			case !slices.ContainsFunc(at, func(pos token.Pos) bool { return reached[pos] }):
				broken = append(broken, fmt.Sprintf("the files %s* do not use %s", prefix, name))
			}
		}
	}
	slices.Sort(broken)
	return slices.Compact(broken)
}

func TestNotSharedFindsWhatIsBroken(t *testing.T) {
	files := map[string]string{
		"exchange.go": `package gallop
			type exchange struct{ h1 *serverConn; h2 *h2Stream }
			type handle struct{ open bool }
			func (x *exchange) both() { x.deep(); x.h1.own(); x.h2.own() }
			func (x *exchange) deep() {}
			func (x *exchange) one() {}
			func (x *exchange) other() {}
			func (x *exchange) nobody() {}
			func help() {}`,
		"h1_a.go": `package gallop
			type serverConn struct{ x *exchange; h handle }
			func (c *serverConn) run() { c.x.both(); c.h.open = true; help() }
			func (c *serverConn) own() { c.x.one() }`,
		"h2_a.go": `package gallop
			type h2Stream struct{ x *exchange; h handle }
			type h2Conn struct{}
			func (st *h2Stream) own() { st.x.both(); _ = st.h.open }`,
		"server.go": `package gallop
			func (st *h2Stream) more() { st.x.other(); help() }`,
	}
	fset := token.NewFileSet()
	var parsed []*ast.File
	for name, source := range files {
		file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	c := typeCheck(fset, parsed, importer.Default())
	if len(c.wrong) > 0 {
		t.Fatal(c.wrong)
	}
	for name, want := range map[string]string{
		"both": "", "deep": "", "help": "", "handle": "",
		"one":    "the files h2_* do not use one",
		"other":  "the files h1_* do not use other",
		"nobody": "the files h1_* do not use nobody\nthe files h2_* do not use nobody",
		"absent": "absent is no function, no method of exchange and no type",
	} {
		if got := strings.Join(notShared(c, []string{name}), "\n"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	page := "\n### What both wires call\n\n| function | what |\n|---|---|\n| `a`, `b` | of `c` |\n\nAnd `d`.\n\n### Next\n\n| `e` | f |\n"
	if got := sharedNames(page); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("names %q", got)
	}
}
