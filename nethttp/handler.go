// Package nethttp joins gallop with net/http: Handler serves an http.Handler by gallop,
// ListenAndServe is that in one line, FromHandler goes the other way, and Transport is an
// http.RoundTripper over gallop's Client.
//
//	handler.go     Handler: an exchange, which is a request, its answer, and their end
//	request*.go    the http.Request, its body and its context
//	response*.go   the http.ResponseWriter
//	from.go        FromHandler
//	server.go      ListenAndServe and the like
package nethttp

import (
	"net"
	"net/http"

	"github.com/gallop-http/gallop"
)

// Handler returns a gallop handler that calls h with a request and a ResponseWriter that do
// what those of net/http's own server do. The ResponseWriter is also an http.Flusher, an
// http.Hijacker, an http.CloseNotifier, an io.ReaderFrom and an io.StringWriter, and
// http.ResponseController works with it; it is no http.Pusher, for there is no push.
//
// Both are h's for ever, as in net/http: a request, its header, its URL and strings in
// them never change. Used after h has returned, the body yields an error, what is written
// is dropped, and the context is cancelled.
//
// Body and answer always go both ways at once, as after EnableFullDuplex. If the
// server has Server.StreamRequestBody the body comes as it is read, else it was read before.
// See NewServer for other settings that net/http's programs expect.
//
// OPTIONS * is answered without h, as by http.Server. http.ErrAbortHandler ends the
// connection. Other panics are the gallop server's, which answers 500 if it can.
//
// The request's context has under http.ServerContextKey an *http.Server of which only
// Handler is set, and ErrorLog if it is NewServer's, and under http.LocalAddrContextKey the address; under any other key what
// gallop's RequestCtx has. It ends when the client goes away, as far as that can
// be seen, when h returns, and with a deadline that a gallop.TimeoutHandler has set; not
// when the server is shut down, since h may finish then.
//
// A status that ctx.Response has already is that of an answer for which h calls no WriteHeader.
//
// Without a server, as in tests with a RequestCtx alone, the whole answer is in
// ctx.Response, and it can neither be flushed nor hijacked.
func Handler(h http.Handler) gallop.RequestHandler {
	return handling{std: &http.Server{Handler: h}}.handler()
}

// GatheringHandler is Handler for answers that others look at, or change, when h has returned, as gallop.CompressHandler
// does: they are in ctx.Response then, up to 16 MiB. Larger ones, those that h flushes, and those that have trailers,
// are streams all the same.
func GatheringHandler(h http.Handler) gallop.RequestHandler {
	return handling{std: &http.Server{Handler: h}, gathers: true}.handler()
}

// handling is how the requests to an http.Handler are handled.
type handling struct {
	std     *http.Server   // has the handler, and is what requests find in their contexts
	server  *gallop.Server // what NewServer has returned, or nil
	gathers bool           // nothing is streamed unless it has to be
}

func (hg handling) handler() gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) {
		if ctx.IsOptions() && string(ctx.RequestURI()) == "*" {
			return
		}
		serve(ctx, &hg)
	}
}

// serveTunnel serves what comes through a tunnel whose end is the server itself, because the handler has accepted CONNECT and
// has not hijacked the connection.
func (hg *handling) serveTunnel(c net.Conn) { _ = hg.server.ServeConn(c) }

// exchange is all that a handler is given for one request. It is one piece of memory, and
// never used again, since handlers may keep any part of it.
type exchange struct {
	req  http.Request
	url  urlOf
	body body
	ctx  requestContext
	resp response
}

// serve calls the handler for the request of ctx.
func serve(ctx *gallop.RequestCtx, hg *handling) {
	x := new(exchange)
	if err := x.read(ctx, hg.std); err != nil {
		ctx.Error(gallop.StatusMessage(gallop.StatusBadRequest), gallop.StatusBadRequest)
		ctx.SetConnectionClose()
		return
	}
	x.resp.init(ctx, &x.ctx, hg)
	returned := false
	defer func() { x.end(returned, recover()) }()
	hg.std.Handler.ServeHTTP(&x.resp, &x.req)
	returned = true
}

// end takes from the handler what is the server's.
func (x *exchange) end(returned bool, panicked any) {
	x.ctx.end()
	x.resp.end(returned)
	x.body.end()
	if form := x.req.MultipartForm; form != nil {
		form.RemoveAll() // of its files nobody else knows
	}
	switch {
	case panicked == http.ErrAbortHandler:
		panic(gallop.ErrAbortHandler)
	case panicked != nil:
		panic(panicked)
	case !returned: // panic(nil) with GODEBUG=panicnil=1, or runtime.Goexit
		panic(gallop.ErrAbortHandler)
	}
}
