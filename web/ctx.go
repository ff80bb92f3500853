package web

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop"
)

// Ctx is a request, its answer, and what belongs to both. It is also the context.Context of
// the request.
//
// It may not be used once the handler has returned; strings from it may be kept. The methods
// of context.Context may be called by many goroutines at once, and by those that know Done also later; all
// others by one.
type Ctx struct {
	app        *App
	table      *table
	request    *gallop.RequestCtx
	context    atomic.Pointer[setContext] // nil by default
	kept       kept                       // by whoever asked for Done
	route      *Route                     // nil if none matches
	handlers   []Handler
	ran        int    // how many of handlers were called
	path       []byte // in which the route was found
	values     spans
	lowHost    []byte // see host
	chosenType []byte // the Content-Type that chooseType set last
	origin     origin // see from

	refusal   *refusal // nil unless the server has refused the request
	logged    bool     // the text of the error is in the log
	streaming bool     // the head of the answer is gone
	layer     *layer   // of net/http, that is around the handlers which run; nil by default
}

var _ context.Context = (*Ctx)(nil)

var ctxPool = sync.Pool{New: func() any { return new(Ctx) }}

func (c *Ctx) begin(a *App, t *table, request *gallop.RequestCtx) {
	c.app, c.table, c.request = a, t, request
}

// end lets go of the request, and reports whether c is ready for another one. It is not if somebody has asked for Done:
// contexts that are derived from this one look at it when they learn of its end, which is after that. What begin and
// find set in any case is left.
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
	return true
}

// Next runs the next handler of the route and returns its error. Behind the last one it
// does nothing.
func (c *Ctx) Next() error {
	if c.ran >= len(c.handlers) {
		return nil
	}
	c.ran++
	return c.handlers[c.ran-1](c)
}

// fail lets the error handler answer.
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

// App returns the application.
func (c *Ctx) App() *App { return c.app }

// Route returns the route that matches, nil if none does. If the framework responds to OPTIONS, it is a route for the same path.
func (c *Ctx) Route() *Route { return c.route }

// RequestCtx returns what the server passed, for what Ctx does not have.
func (c *Ctx) RequestCtx() *gallop.RequestCtx { return c.request }

// SetLocal keeps a value for the handlers that follow, until the request ends. Value finds it by its key, as in any context.
// If the value has a method Close() error, it is called at the end. A [Key] does the same with a type.
func (c *Ctx) SetLocal(key, value any) *Ctx {
	c.request.SetUserValue(key, value)
	return c
}

// Local returns the value that SetLocal kept under the key. It returns false if there is none or it has another type.
func Local[T any](c *Ctx, key any) (value T, ok bool) {
	value, ok = c.request.UserValue(key).(T)
	return value, ok
}

// host returns the host in lower case, without its port.
func (c *Ctx) host() []byte {
	if len(c.lowHost) == 0 {
		for _, b := range withoutPort(c.hostPort()) {
			if b-'A' < 26 {
				b |= 0x20
			}
			c.lowHost = append(c.lowHost, b)
		}
	}
	return c.lowHost
}
