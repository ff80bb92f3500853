// Package expvarhandler serves the variables of package expvar.
package expvarhandler

import (
	"encoding/json"
	"expvar"
	"fmt"
	"regexp"
	"strings"

	"github.com/gallop-http/gallop"
)

// Handler answers with the variables as a JSON object. The query argument r is a regular expression that limits them to
// those whose names it matches; one that cannot be compiled, or is longer than a kilobyte, is answered with 400 and why.
//
// The response is valid JSON whatever was published: a variable whose String returns something else is a JSON string, and one whose
// String panics is null.
//
// Like package expvar itself, it shows what is published to whoever may ask.
func Handler(ctx *gallop.RequestCtx) {
	ctx.Response.Reset()
	expression := ctx.QueryArgs().Peek("r")
	if len(expression) > maxExpression {
		ctx.Error(fmt.Sprintf("the argument r is longer than %d bytes", maxExpression), gallop.StatusBadRequest)
		return
	}
	names, err := regexp.Compile(string(expression))
	if err != nil {
		ctx.Error(fmt.Sprintf("the argument r is no regular expression: %v", err), gallop.StatusBadRequest)
		return
	}
	ctx.SetContentType("application/json; charset=utf-8")
	ctx.SetBodyString(object(names))
}

// maxExpression is the length of the longest regular expression. A longer one would cost much to compile.
const maxExpression = 1 << 10

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
