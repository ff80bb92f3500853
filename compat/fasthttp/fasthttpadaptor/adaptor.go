// Package fasthttpadaptor has the names of github.com/valyala/fasthttp/fasthttpadaptor for what is in gallop's package nethttp.
package fasthttpadaptor

import (
	"net/http"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// NewFastHTTPHandler returns a handler that calls h. Unless h has flushed it, or it is larger than 16 MiB, the answer is in
// ctx.Response when h has returned, for others to look at.
func NewFastHTTPHandler(h http.Handler) gallop.RequestHandler {
	return nethttp.FromHTTP(h, nethttp.Gather())
}

// NewFastHTTPHandlerFunc is NewFastHTTPHandler for a function.
func NewFastHTTPHandlerFunc(h http.HandlerFunc) gallop.RequestHandler { return NewFastHTTPHandler(h) }
