// Package expvarhandler serves the variables of package expvar.
package expvarhandler

import (
	"expvar"
	"fmt"
	"regexp"
	"strings"

	"github.com/gallop-http/gallop"
)

// Handler answers with the variables as a JSON object. The query argument r is a regular expression that limits them to
// those whose names it matches; one that cannot be compiled is answered with 400 and why.
//
// Like package expvar itself, it shows what is published to whoever may ask.
func Handler(ctx *gallop.RequestCtx) {
	ctx.Response.Reset()
	names, err := regexp.Compile(string(ctx.QueryArgs().Peek("r")))
	if err != nil {
		ctx.Error(fmt.Sprintf("the argument r is no regular expression: %v", err), gallop.StatusBadRequest)
		return
	}
	ctx.SetContentType("application/json; charset=utf-8")
	ctx.SetBodyString(object(names))
}

func object(names *regexp.Regexp) string {
	var members []string
	expvar.Do(func(v expvar.KeyValue) {
		if names.MatchString(v.Key) {
			members = append(members, fmt.Sprintf("%q: %s", v.Key, v.Value))
		}
	})
	return "{\n" + strings.Join(members, ",\n") + "\n}\n"
}
