// Package fasthttpadaptor has the names of github.com/valyala/fasthttp/fasthttpadaptor for what is in gallop's package nethttp.
package fasthttpadaptor

import (
	"net/http"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// NewFastHTTPHandler returns a handler that calls h.
func NewFastHTTPHandler(h http.Handler) gallop.RequestHandler { return nethttp.Handler(h) }

// NewFastHTTPHandlerFunc is NewFastHTTPHandler for a function.
func NewFastHTTPHandlerFunc(h http.HandlerFunc) gallop.RequestHandler { return nethttp.Handler(h) }
