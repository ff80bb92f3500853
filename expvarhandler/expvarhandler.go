// Package expvarhandler serves the variables of package expvar. Importing it also registers them at /debug/vars of
// http.DefaultServeMux, because importing package expvar does: a program that serves http.DefaultServeMux as well shows its variables
// there.
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

// Handler answers with the variables as a JSON object, whatever the path. The query argument r is a regular expression that selects
// the variables whose names it matches. An expression that cannot be compiled, or that is larger than 1,024 characters when its
// repetitions are written out, is answered with 400 and the reason.
//
// The response is valid JSON whatever was published: a variable whose String method returns something else becomes a JSON string, and
// one whose String method panics becomes null.
//
// Handler shows what is published to everybody who can reach it, such as the command line of the program. So does
// http.DefaultServeMux, where package expvar registers a handler of its own as soon as this package is imported.
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

// maxExpression is the size of the largest regular expression. What it costs to compile and to match grows with that.
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
