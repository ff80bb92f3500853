// Package nethttp connects gallop and net/http, in both directions.
//
// # Serve an http.Handler
//
// [ListenAndServe] serves an http.Handler with a gallop server. Routers and middleware for net/http work unchanged:
//
//	mux := http.NewServeMux()
//	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
//		io.WriteString(w, "hello\n")
//	})
//	log.Fatal(nethttp.ListenAndServe(":8080", mux))
//
// [NewServer] returns a gallop.Server for an http.Handler, so that you can set limits and timeouts before the server
// starts. [FromHTTP] turns an http.Handler into a gallop handler. Use FromHTTP to run a single handler, such as a
// metrics page, inside a gallop program.
//
// # Serve a gallop handler
//
// [ToHTTP] turns a gallop handler into an http.Handler for net/http's server. Use ToHTTP to move a program to gallop
// step by step.
//
// # Make calls
//
// [Transport] is an http.RoundTripper on top of gallop's client. Set a Transport as the field Transport of an
// http.Client:
//
//	client := &http.Client{Transport: nethttp.NewTransport()}
//	resp, err := client.Get("https://example.com/")
//
// Redirects, cookies and the client's Timeout work as usual, because http.Client handles them.
package nethttp

// The files of this package:
//
//	handler.go     FromHTTP: an exchange, which is a request, its response, and their end
//	request*.go    the http.Request, its body and its context
//	response*.go   the http.ResponseWriter
//	tunnel.go      CONNECT over HTTP/2
//	tohttp*.go     ToHTTP
//	server.go      NewServer, ListenAndServe and Serve
//	transport*.go  Transport, see transport.go

import (
	"net"
	"net/http"
	"sync/atomic"

	"github.com/gallop-http/gallop"
)

// FromHTTP returns a gallop handler that calls h. The request and the ResponseWriter that h gets behave as in net/http's
// server. The ResponseWriter also implements http.Flusher, http.Hijacker, http.CloseNotifier, io.ReaderFrom and
// io.StringWriter. The ResponseWriter works with http.ResponseController, but does not implement http.Pusher.
//
// Over HTTP/2, Hijack returns http.ErrNotSupported. Deadlines apply to a single request, and the server drops the
// header fields that HTTP/2 forbids, such as Connection.
//
// CONNECT requests over HTTP/2 also behave as in net/http: r.Body has what the client sends, h writes to the
// ResponseWriter, and the stream ends when h returns. The difference is that reads of r.Body wait until h has accepted the
// request, with Flush or a Write after a 2xx status. If Server.ExtendedConnect is set, the header field ":protocol" has the
// protocol of an extended CONNECT (RFC 8441).
//
// FromHTTP panics if h is nil. The returned handler is safe for concurrent use if h is.
//
// As in net/http, h owns the request and the ResponseWriter and may keep both. Gallop never changes the request,
// including its header, its URL and its strings. When h returns, the request's context is canceled. Later reads of the
// request body fail, and later writes to the ResponseWriter are dropped.
//
// h can read the request body while it writes the response, without calling EnableFullDuplex. If
// Server.StreamRequestBody is set, the server reads the body from the connection while h runs. If StreamRequestBody
// is not set, the server reads the whole body before it calls h. See [NewServer] for other settings that programs
// for net/http expect.
//
// Like http.Server, the gallop server responds to OPTIONS * with an empty 200 and does not call h. To pass OPTIONS *
// to h, use [DisableGeneralOptionsHandler]. If h panics with http.ErrAbortHandler, the server closes the HTTP/1 connection
// or resets the HTTP/2 stream. Any other panic reaches the gallop server, which responds with 500 if the response has not
// begun.
//
// The request's context has these values:
//   - http.ServerContextKey: an *http.Server whose Handler is set. If [NewServer] created the gallop server, the
//     ErrorLog is set, too. All other fields of the http.Server are zero.
//   - http.LocalAddrContextKey: the local address.
//   - other keys: the values of the RequestCtx.
//
// The context is done when h returns or when the server notices that the client has disconnected. Over HTTP/2, the
// context is also done when the client resets the stream. The context is also
// done when a deadline that gallop.TimeoutHandler set has passed. Shutting the server down does not cancel the context,
// because h can still finish.
//
// If h does not call WriteHeader, the response has the status that ctx.Response had before h was called.
//
// If a test creates a RequestCtx itself, there is no server. Without a server, the whole response is stored in
// ctx.Response, and h can neither flush nor hijack. To test a handler with a server, use package galloptest.
func FromHTTP(h http.Handler, options ...Option) gallop.RequestHandler {
	if h == nil {
		panic("nethttp: FromHTTP of a nil http.Handler")
	}
	hg := handling{std: &http.Server{Handler: h}}
	return hg.with(options).handler()
}

// Option configures [FromHTTP] or [NewServer]. A nil Option has no effect.
type Option interface{ apply(*handling) }

type optionFunc func(*handling)

func (f optionFunc) apply(hg *handling) { f(hg) }

// DisableGeneralOptionsHandler passes OPTIONS * to the handler, like the field with the same name in http.Server. By
// default, OPTIONS * gets an empty 200 response, and the handler is not called.
func DisableGeneralOptionsHandler() Option {
	return optionFunc(func(hg *handling) { hg.std.DisableGeneralOptionsHandler = true })
}

// Gather makes [FromHTTP] store responses of up to 16 MiB in ctx.Response. Without Gather, every response over 4 KiB is
// streamed. Use Gather with code that reads or changes the response after the handler has returned, such as
// gallop.CompressHandler. Even with Gather, a response is streamed if it is larger than 16 MiB, has trailers, or is
// flushed by the handler.
func Gather() Option { return optionFunc(func(hg *handling) { hg.gathers = true }) }

// handling is how the requests to an http.Handler are handled.
type handling struct {
	std     *http.Server   // has the handler, and is what requests find in their contexts
	server  *gallop.Server // what NewServer has returned, or nil
	gathers bool           // nothing is streamed unless it has to be

	announced *atomic.Pointer[announcement] // of the last response with announced trailers
}

// with returns hg changed by options.
func (hg handling) with(options []Option) handling {
	for _, o := range options {
		if o != nil {
			o.apply(&hg)
		}
	}
	return hg
}

func (hg handling) handler() gallop.RequestHandler {
	hg.announced = new(atomic.Pointer[announcement])
	return func(ctx *gallop.RequestCtx) {
		if !hg.std.DisableGeneralOptionsHandler && ctx.IsOptions() && string(ctx.RequestURI()) == "*" {
			return
		}
		serve(ctx, &hg)
	}
}

// serveTunnel serves the requests inside a CONNECT tunnel that ends at this server. The handler has accepted the CONNECT
// without hijacking the connection.
func (hg *handling) serveTunnel(c net.Conn) { _ = hg.server.ServeConn(c) }

// exchange is everything that a handler gets for one request. It is a single allocation and is never reused, because
// handlers may keep any part of it.
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
		if !ctx.Request.Header.ProtoAtLeast(2, 0) {
			ctx.SetConnectionClose()
		}
		return
	}
	x.resp.init(ctx, x, hg)
	returned := false
	defer func() { x.end(returned, recover()) }()
	hg.std.Handler.ServeHTTP(&x.resp, &x.req)
	returned = true
}

// end makes the body, the response and the context unusable for a handler that kept them.
func (x *exchange) end(returned bool, panicked any) {
	x.ctx.end()
	x.resp.end(returned)
	x.body.end()
	if form := x.req.MultipartForm; form != nil {
		form.RemoveAll() // nothing else refers to its temporary files
	}
	switch {
	case panicked != nil:
		panic(translateAbort(panicked, http.ErrAbortHandler, gallop.ErrAbortHandler))
	case !returned: // panic(nil) with GODEBUG=panicnil=1, or runtime.Goexit
		panic(gallop.ErrAbortHandler)
	}
}
