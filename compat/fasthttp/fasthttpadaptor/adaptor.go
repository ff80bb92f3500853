// Package fasthttpadaptor provides the names of github.com/valyala/fasthttp/fasthttpadaptor. It is built on gallop's
// package nethttp.
package fasthttpadaptor

import (
	"net/http"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// NewFastHTTPHandler returns a handler that calls h. When h has returned, the response is in ctx.Response, so that
// other handlers can examine or change it. There are two exceptions: h has flushed the response, or it is larger than
// 16 MiB.
func NewFastHTTPHandler(h http.Handler) gallop.RequestHandler {
	return nethttp.FromHTTP(h, nethttp.Gather())
}

// NewFastHTTPHandlerFunc is like [NewFastHTTPHandler] for a function.
func NewFastHTTPHandlerFunc(h http.HandlerFunc) gallop.RequestHandler { return NewFastHTTPHandler(h) }
