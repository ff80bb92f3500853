package web

import (
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/gallop-http/gallop"
)

// The server refuses some requests before they reach the App, for example malformed, large and slow ones. The error handler responds
// to them, after the middleware of the App has run. That middleware was written for complete requests, so it cannot respond by
// itself: such a response is undone, and the next middleware runs.

// refusal is the state of a request that the server has refused.
type refusal struct {
	err      error // for the error handler
	why      error // the reason that the server gave
	reached  bool  // the last handler was called, so all middleware has called Next
	answered bool  // the error handler has responded
}

// Refused returns the reason why the server refused the request. If the server did not refuse the request, it returns nil.
//
// The middleware of an App also runs for refused requests. Middleware can, for example, log a refused request or set response
// headers. A refused request may have no path, method or headers, and its body cannot be read. Middleware cannot respond to a
// refused request. In statistics, do not count a refused request as a request for its path.
func (c *Ctx) Refused() error {
	if c.refusal == nil {
		return nil
	}
	return c.refusal.why
}

// refuse is the ErrorHandler of Config.Server. The status of the response is set already.
func (a *App) refuse(request *gallop.RequestCtx, why error) {
	t := a.table.Load()
	if t == nil {
		t = a.makeTable()
	}
	status := request.Response.StatusCode()
	done := false
	defer func() {
		if !done && !request.Streaming() { // a panic of the error handler, which the server logs
			request.Error(gallop.StatusMessage(status), status)
		}
	}()
	request.ResetBody()
	c := ctxPool.Get().(*Ctx)
	c.begin(a, t, request)
	c.route, c.path, c.handlers, c.ran = nil, request.Path(), t.refused, 0
	c.refusal = &refusal{err: &Error{Status: status, Message: gallop.StatusMessage(status), Err: why}, why: why}
	c.logged = true // the server has logged why
	c.Next()
	if !c.refusal.answered && !c.streaming && !request.Streaming() {
		c.fail(c.refusal.err)
	}
	done = true
	if c.end() {
		ctxPool.Put(c)
	}
}

// refusable wraps middleware for requests that the server refuses.
func refusable(use []Handler) []Handler {
	handlers := make([]Handler, 0, len(use)+1)
	for _, h := range use {
		handlers = append(handlers, func(c *Ctx) error { return c.runRefused(h) })
	}
	return append(handlers, func(c *Ctx) error {
		c.refusal.reached = true
		return c.refusal.err
	})
}

// runRefused runs middleware for a request that the server has refused. If that panics or does not call Next, its response is undone
// and the next middleware runs.
func (c *Ctx) runRefused(h Handler) error {
	before := gallop.AcquireResponse()
	defer gallop.ReleaseResponse(before)
	response := &c.request.Response
	response.Header.CopyTo(&before.Header)
	c.tryRefused(h)
	if !c.refusal.reached && !c.streaming && !c.request.Streaming() {
		c.request.ResetBody()
		before.Header.CopyTo(&response.Header)
		c.chosenType = c.chosenType[:0]
		return c.Next()
	}
	if c.refusal.answered { // within middleware of net/http
		return nil
	}
	return c.refusal.err
}

// tryRefused calls h. If that panics, the panic is logged: h is likely to rely on something that the request does not have.
func (c *Ctx) tryRefused(h Handler) {
	defer func() {
		if v := recover(); v != nil && v != gallop.ErrAbortHandler && v != http.ErrAbortHandler {
			c.Log().Error("panic in middleware for a refused request", slog.Any("error", v), slog.String("stack", string(debug.Stack())))
		}
	}()
	_ = h(c)
}
