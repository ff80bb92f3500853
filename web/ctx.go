package web

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop"
)

// Ctx reads one request and builds the response to it. A Ctx is also the context.Context of the request.
//
// Ownership: a Ctx must not be used after the handler has returned. You may keep strings that methods of the Ctx return. A
// []byte that a method returns is valid only until the handler returns, unless the documentation of the method says otherwise.
//
// Concurrency: the methods of context.Context may be called by several goroutines at once. If a goroutine uses the context after
// the handler has returned, the goroutine must call Done once while the handler is still running. Only the goroutine that runs the
// handler may call the other methods of Ctx.
type Ctx struct {
	app        *App
	table      *table
	request    *gallop.RequestCtx
	context    atomic.Pointer[setContext] // nil unless a context was set or Done was called
	kept       kept                       // for the goroutines that called Done
	route      *Route                     // nil if none matches
	handlers   []Handler
	ran        int    // how many of handlers were called
	path       []byte // the path that routes and parameters refer to
	values     spans
	lowHost    []byte // see host
	original   []byte // the request target before Rewrite, or empty
	chosenType []byte // the Content-Type that chooseType set last
	origin     origin // see from

	refusal   *refusal // nil unless the server has refused the request
	logged    bool     // the text of the error is in the log
	streaming bool     // the head of the response has been sent
	layer     *layer   // the net/http middleware around the running handlers, or nil
}

var _ context.Context = (*Ctx)(nil)

var ctxPool = sync.Pool{New: func() any { return new(Ctx) }}

func (c *Ctx) begin(a *App, t *table, request *gallop.RequestCtx) {
	c.app, c.table, c.request = a, t, request
}

// end releases the request and reports whether c may be used for another one. A Ctx whose Done was called is not used again:
// contexts derived from it still call its methods after its channel is closed. Fields that begin and find always set are not
// cleared.
func (c *Ctx) end() (again bool) {
	if c.kept.by.Load() {
		c.kept.end()
		return false
	}
	c.request = nil
	if c.context.Load() != nil {
		c.context.Store(nil)
	}
	if c.streaming {
		c.streaming = false
	}
	if c.logged {
		c.logged, c.refusal = false, nil
	}
	if c.origin.known {
		c.origin.forget()
	}
	c.lowHost = c.lowHost[:0]
	c.chosenType = c.chosenType[:0]
	c.original = c.original[:0]
	return true
}

// Next runs the next handler of the request and returns its error. If there is no next handler, Next returns nil. In
// middleware, the code before the call of Next runs before the later handlers. The code after the call of Next runs after the later
// handlers.
func (c *Ctx) Next() error {
	if c.ran >= len(c.handlers) {
		return nil
	}
	c.ran++
	return c.handlers[c.ran-1](c)
}

// fail calls the error handler. If a part of the response has been sent, it closes the connection instead.
func (c *Ctx) fail(err error) {
	if c.streaming || c.request.Streaming() {
		c.abort(err)
	}
	if c.refusal != nil {
		c.refusal.answered = true
		err = c.refusal.err
	}
	c.dropBody()
	c.forgetType()
	err = withMessage(err)
	if c.route != nil && c.route.onError != nil {
		c.route.onError(c, err)
		return
	}
	c.app.config.ErrorHandler(c, err)
}

// App returns the App that serves the request. If you mounted one App in another, the method returns the outer App.
func (c *Ctx) App() *App { return c.app }

// Route returns the route that matches the request, or nil if no route matches. If the framework itself responds to an OPTIONS
// request, the result is one of the routes for the path.
func (c *Ctx) Route() *Route { return c.route }

// RequestCtx returns the request and response of the server, for features that Ctx does not have. The RequestCtx is valid until the
// handler returns. The Ctx and its RequestCtx share the status, the headers and the body of the response.
func (c *Ctx) RequestCtx() *gallop.RequestCtx { return c.request }

// SetLocal stores a value under a key until the request ends, and returns c. To read the value, call [Local] or [Ctx.Value]. If the
// value is an io.Closer, the framework calls Close when the request ends. A [Key] is usually better, because a Key knows the type
// of its value.
func (c *Ctx) SetLocal(key, value any) *Ctx {
	c.request.SetUserValue(key, value)
	return c
}

// Local returns the value that SetLocal stored under the key. If there is no value, or the value has another type than
// T, ok is false.
func Local[T any](c *Ctx, key any) (value T, ok bool) {
	value, ok = c.request.UserValue(key).(T)
	return value, ok
}

// host returns the host in lower case, without its port.
func (c *Ctx) host() []byte {
	if len(c.lowHost) == 0 {
		host := append(c.lowHost, withoutPort(c.hostPort())...)
		for i, b := range host {
			if b-'A' < 26 {
				host[i] = b | 0x20
			}
		}
		c.lowHost = host
	}
	return c.lowHost
}
