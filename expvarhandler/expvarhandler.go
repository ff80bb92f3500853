// Package expvarhandler serves the variables of package expvar as JSON.
//
// Importing this package imports expvar, which registers /debug/vars with http.DefaultServeMux. If a program also serves
// http.DefaultServeMux, clients can read the variables at /debug/vars, too.
package expvarhandler

import (
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/gallop-http/gallop"
)

// Handler responds to every request with the variables as a JSON object, whatever the path is. The query argument r is a regular
// expression that selects variables by name. Handler responds with 400 and the reason if the expression does not compile. The
// expression may have at most 1,024 characters. A repetition counts as if it were written out: a{3} counts as aaa.
//
// The response is always valid JSON. A variable whose String method does not return JSON becomes a JSON string. A variable whose
// String method panics becomes null.
//
// All clients that reach Handler can read the published variables, including the program's command line. Restrict
// access to Handler.
func Handler(ctx *gallop.RequestCtx) {
	ctx.Response.Reset()
	expression := ctx.QueryArgs().Peek("r")
	names, err := compile(string(expression))
	if err != nil {
		ctx.Error(fmt.Sprintf("the argument r cannot be used as a regular expression: %v", err), gallop.StatusBadRequest)
		return
	}
	ctx.SetContentType("application/json; charset=utf-8")
	ctx.SetBodyString(object(names))
}

// maxExpression is the size of the largest regular expression. The cost of compiling and matching grows with the size.
const maxExpression = 1 << 10

var errTooLarge = errors.New("it is too large")

// compile compiles a regular expression that is not too large.
func compile(expression string) (*regexp.Regexp, error) {
	if len(expression) > maxExpression {
		return nil, errTooLarge
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if sizeOf(tree) > maxExpression {
		return nil, errTooLarge
	}
	return regexp.Compile(expression)
}

// sizeOf returns how large an expression is when its repetitions are written out: (ab){3} is ababab.
func sizeOf(tree *syntax.Regexp) int {
	parts := 0
	for _, part := range tree.Sub {
		parts += sizeOf(part)
	}
	if tree.Op == syntax.OpRepeat {
		parts *= max(tree.Min, tree.Max, 1)
	}
	return max(1, len(tree.Rune)) + parts
}

func object(names *regexp.Regexp) string {
	var members []string
	expvar.Do(func(v expvar.KeyValue) {
		if names.MatchString(v.Key) {
			members = append(members, quote(v.Key)+": "+valueOf(v.Value))
		}
	})
	return "{\n" + strings.Join(members, ",\n") + "\n}\n"
}

// valueOf returns the value of a variable as JSON.
func valueOf(v expvar.Var) (value string) {
	defer func() {
		if recover() != nil {
			value = "null"
		}
	}()
	if value = v.String(); !json.Valid([]byte(value)) {
		value = quote(value)
	}
	return value
}

// quote returns a text as a JSON string.
func quote(text string) string {
	quoted, _ := json.Marshal(text) // which cannot fail
	return string(quoted)
}
