// Package api lists the exported names of packages, one declaration per line, in a form in which the lists of two
// modules can be compared. [List] returns the list.
package api

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// Module is the common path of both modules.
const Module = "github.com/valyala/fasthttp"

// Packages are the listed packages, as paths below Module.
var Packages = []string{
	"", "/expvarhandler", "/fasthttpadaptor", "/fasthttpproxy", "/fasthttputil", "/pprofhandler",
	"/prefork", "/reuseport", "/stackless", "/tcplisten",
}

// List returns a sorted list with a line for each exported function, type, field, method, variable and constant of
// Packages. The go command must find the packages in dir.
//
// An alias type is listed under its name in Packages, wherever the type is declared. Names of parameters and
// unexported names are left out.
func List(dir string) ([]string, error) {
	packages, err := load(dir)
	if err != nil {
		return nil, err
	}
	l := lister{names: map[string]string{}, homes: map[string]string{}}
	for _, p := range packages {
		l.learn(p)
	}
	for _, p := range packages {
		l.listPackage(p)
	}
	slices.Sort(l.lines)
	return slices.Compact(l.lines), nil
}

// load makes the go command compile Packages and reads their exported names.
func load(dir string) ([]*types.Package, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}}\t{{.Export}}{{end}}"}
	for _, p := range Packages {
		args = append(args, Module+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			files[path] = file
		}
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
	imports := importer.ForCompiler(token.NewFileSet(), "gc", open)
	var packages []*types.Package
	for _, p := range Packages {
		loaded, err := imports.Import(Module + p)
		if err != nil {
			return nil, err
		}
		packages = append(packages, loaded)
	}
	return packages, nil
}

type lister struct {
	names map[string]string // name of a type where it is declared → name in Packages
	homes map[string]string // package in which types are declared → package in Packages
	lines []string
}

// learn records the names under which p has types of other packages.
func (l *lister) learn(p *types.Package) {
	for _, name := range p.Scope().Names() {
		object, ok := p.Scope().Lookup(name).(*types.TypeName)
		if !ok || !object.Exported() || !object.IsAlias() {
			continue
		}
		if home, ok := types.Unalias(object.Type()).(*types.Named); ok {
			l.names[types.TypeString(home, nil)] = p.Path() + "." + name
			l.homes[home.Obj().Pkg().Path()] = p.Path()
		}
	}
}

func (l *lister) listPackage(p *types.Package) {
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		full := short(p.Path() + "." + name)
		switch object := object.(type) {
		case *types.Const:
			l.add("const %s %s = %s", full, l.text(object.Type()), object.Val().ExactString())
		case *types.Var:
			l.add("var %s %s", full, l.text(object.Type()))
		case *types.Func:
			l.add("func %s%s", full, l.signature(object))
		case *types.TypeName:
			l.listType(full, object.Type())
		}
	}
}

func (l *lister) listType(full string, t types.Type) {
	switch under := t.Underlying().(type) {
	case *types.Struct:
		l.add("type %s struct", full)
		for field := range under.Fields() {
			if field.Exported() {
				l.add("field %s.%s %s", full, field.Name(), l.text(field.Type()))
			}
		}
	case *types.Interface:
		// All methods are in one line, because an additional one breaks implementations.
		l.add("type %s %s", full, l.methods(under))
		return
	default:
		l.add("type %s %s", full, l.text(under))
	}
	values := types.NewMethodSet(t)
	for method := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		name := method.Obj().Name()
		switch {
		case !method.Obj().Exported():
		case values.Lookup(nil, name) != nil:
			l.add("method (%s) %s%s", full, name, l.signature(method.Obj()))
		default:
			l.add("method (*%s) %s%s", full, name, l.signature(method.Obj()))
		}
	}
}

func (l *lister) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// signature returns the parameters and results of a function.
func (l *lister) signature(f types.Object) string {
	return strings.TrimPrefix(l.text(f.Type()), "func")
}

// nameless removes the names of parameters from a type.
func nameless(t types.Type) types.Type {
	s, ok := t.(*types.Signature)
	if !ok {
		return t
	}
	return types.NewSignatureType(nil, nil, nil, namelessAll(s.Params()), namelessAll(s.Results()), s.Variadic())
}

func namelessAll(t *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for v := range t.Variables() {
		vars = append(vars, types.NewParam(v.Pos(), nil, "", nameless(v.Type())))
	}
	return types.NewTuple(vars...)
}

// methods returns the methods of an interface, including those of embedded ones.
func (l *lister) methods(t *types.Interface) string {
	var names []string
	for m := range t.Methods() {
		names = append(names, m.Name()+l.signature(m))
	}
	slices.Sort(names)
	return "interface { " + strings.Join(names, "; ") + " }"
}

var typeName = regexp.MustCompile(`[\w./-]+\.\w+`)

// text returns a type in the form of the list.
func (l *lister) text(t types.Type) string {
	return typeName.ReplaceAllStringFunc(types.TypeString(nameless(t), nil), func(name string) string {
		return short(l.name(name))
	})
}

// name returns the name of a type in Packages. An unexported type has no alias, and gets its own name there.
func (l *lister) name(name string) string {
	if alias, ok := l.names[name]; ok {
		return alias
	}
	dot := strings.LastIndexByte(name, '.')
	if path, ok := l.homes[name[:dot]]; ok && !token.IsExported(name[dot+1:]) {
		return path + name[dot:]
	}
	return name
}

// short removes Module from a name.
func short(name string) string {
	if rest, ok := strings.CutPrefix(name, Module+"/"); ok {
		return rest
	}
	if rest, ok := strings.CutPrefix(name, Module); ok {
		return "fasthttp" + rest
	}
	return name
}
