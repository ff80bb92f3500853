package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log"
)

// function holds what is needed to insert statements into a function.
type function struct {
	body    int      // offset after the opening brace, where the first statement may stand
	params  []string // the receiver, if there is one, and the parameters
	results int
}

// findFunc finds a function, or a method of a pointer such as Server.Close.
func findFunc(text, name string) function {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	check(err)
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil && nameOf(f) == name {
			return function{
				body:    int(f.Body.Lbrace - file.FileStart + 1),
				params:  append(namesIn(f.Recv), namesIn(f.Type.Params)...),
				results: f.Type.Results.NumFields(),
			}
		}
	}
	log.Fatalf("this release of Go has no %s where it is looked for", name)
	return function{}
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	pointer, ok := f.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return ""
	}
	receiver, ok := pointer.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return receiver.Name + "." + f.Name.Name
}

func namesIn(fields *ast.FieldList) (names []string) {
	if fields == nil {
		return nil
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
