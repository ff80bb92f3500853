package check

import (
	"strings"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// Limits of expressions, so that a scenario file of a stranger can neither fill the memory nor keep a processor busy.
const (
	maxExprNodes  = 1000
	maxExprMemory = 100_000 // elements of arrays and maps that an evaluation may create
)

// environment has the names that an expression may use.
type environment struct {
	Status  int               `expr:"status"`
	Body    string            `expr:"body"`
	Size    int               `expr:"size"`
	Headers map[string]string `expr:"headers"` // keys in lower case
	JSON    any               `expr:"json"`
	Vars    map[string]string `expr:"vars"`
}

// uses records which names an expression uses.
type uses map[string]bool

func (u uses) Visit(node *ast.Node) {
	if id, ok := (*node).(*ast.IdentifierNode); ok {
		u[id.Value] = true
	}
}

// machines evaluate expressions. A machine is for one goroutine at a time.
var machines = sync.Pool{New: func() any { return &vm.VM{MemoryBudget: maxExprMemory} }}

// parseExpr compiles an expression. An evaluation that fails or exceeds its memory is a check that fails.
func parseExpr(source string) (*Check, error) {
	used := uses{}
	program, err := expr.Compile(source, expr.Env(environment{}), expr.AsBool(), expr.MaxNodes(maxExprNodes), expr.Patch(used))
	if err != nil {
		return nil, err
	}
	return &Check{
		NeedHead: used["headers"],
		NeedBody: used["body"] || used["json"],
		pass: func(r *Reply) bool {
			machine := machines.Get().(*vm.VM)
			defer machines.Put(machine)
			out, err := machine.Run(program, r.environment(used))
			pass, _ := out.(bool)
			return err == nil && pass
		},
	}, nil
}

// environment returns the names that are used, with their values.
func (r *Reply) environment(used uses) environment {
	env := environment{Status: r.Status, Size: int(r.Size)}
	if used["body"] {
		env.Body = string(r.Body)
	}
	if used["json"] {
		env.JSON = r.JSON()
	}
	if used["headers"] {
		env.Headers = make(map[string]string, len(r.Header))
		for _, f := range r.Header {
			name := strings.ToLower(f.Name)
			if _, ok := env.Headers[name]; !ok {
				env.Headers[name] = f.Value
			}
		}
	}
	if used["vars"] && r.Vars != nil {
		env.Vars = r.Vars()
	}
	return env
}
