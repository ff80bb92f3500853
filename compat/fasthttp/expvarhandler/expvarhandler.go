// Package expvarhandler provides the names of github.com/valyala/fasthttp/expvarhandler. It calls gallop's package of
// the same name.
package expvarhandler

import (
	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/expvarhandler"
)

// ExpvarHandler responds with the variables of package expvar.
func ExpvarHandler(ctx *gallop.RequestCtx) { expvarhandler.Handler(ctx) }
