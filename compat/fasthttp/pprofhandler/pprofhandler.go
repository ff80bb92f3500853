// Package pprofhandler provides the names of github.com/valyala/fasthttp/pprofhandler. It calls gallop's package of
// the same name.
package pprofhandler

import (
	"sync"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/pprofhandler"
)

var handler = sync.OnceValue(newHandler)

func newHandler() gallop.RequestHandler { return pprofhandler.Handler("") }

// PprofHandler responds to requests below /debug/pprof/.
func PprofHandler(ctx *gallop.RequestCtx) { handler()(ctx) }
