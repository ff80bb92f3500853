package nethttp

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
)

// requestContext is the context of a request. It may be used by many goroutines, and at
// any time.
type requestContext struct {
	server *http.Server
	local  net.Addr

	mu     sync.Mutex
	ctx    *gallop.RequestCtx // nil once the handler has returned
	parent context.Context    // has the values and the deadline from then on
	std    context.Context    // made by the first call of Done, see ending
	stop   context.CancelFunc // ends std because of context.Canceled
	endStd func()             // ends std because of err
	seen   bool               // the context is in use, so the connection is watched
	err    error
}

func (c *requestContext) init(ctx *gallop.RequestCtx, server *http.Server) {
	c.ctx, c.server, c.local = ctx, server, ctx.LocalAddr()
}

// watch has the connection watched, from the first call on. c is locked.
func (c *requestContext) watch() {
	if !c.seen && c.err == nil {
		c.seen = true
		c.ctx.OnDisconnect(c.cancel)
	}
}

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std == nil {
		c.std, c.stop = context.WithCancel((*ending)(c))
		c.stopStd()
	}
	c.watch()
	return c.std.Done()
}

// Err implements context.Context.
func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch()
	return c.err
}

// Deadline implements context.Context.
func (c *requestContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.source().Deadline()
}

// Value implements context.Context.
func (c *requestContext) Value(key any) any {
	switch key {
	case http.ServerContextKey:
		return c.server
	case http.LocalAddrContextKey:
		return c.local
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std != nil {
		if v := c.std.Value(key); v != nil {
			return v
		}
	}
	return c.source().Value(key)
}

// source returns the context that has the values and the deadline. c is locked.
func (c *requestContext) source() context.Context {
	if c.ctx == nil {
		return c.parent
	}
	return c.ctx
}

// cancel ends the context because of err, unless it has ended.
func (c *requestContext) cancel(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	c.stopStd()
}

// stopStd ends std if the context has ended. c is locked.
func (c *requestContext) stopStd() {
	switch {
	case c.std == nil || c.err == nil:
	case c.err == context.Canceled:
		c.stop()
	default:
		c.endStd()
	}
}

// end ends the context, and lets go of what is the server's. As in net/http, values of Server.BaseContext and ConnContext stay.
func (c *requestContext) end() {
	c.cancel(context.Canceled)
	c.mu.Lock()
	c.parent, c.ctx = c.ctx.Parent(), nil
	c.mu.Unlock()
}

// ending is the parent of a context of package context that ends together with a requestContext. Package context asks contexts for
// such a context, with a secret key. If it finds one, derived contexts need no goroutine that waits for the end of their parent.
// That also works for contexts that wrap the requestContext, such as those of context.WithValue. The request context of net/http
// is a context of package context, too.
type ending requestContext

// never is not closed.
var never = make(chan struct{})

// Done implements context.Context. Package context calls AfterFunc instead of waiting for this channel.
func (e *ending) Done() <-chan struct{} { return never }

// AfterFunc has f called when the context ends. The requestContext is locked.
func (e *ending) AfterFunc(f func()) (stop func() bool) {
	e.endStd = f
	return func() bool { return false }
}

// Err implements context.Context. The requestContext is locked.
func (e *ending) Err() error { return e.err }

// Deadline implements context.Context.
func (e *ending) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value implements context.Context.
func (e *ending) Value(any) any { return nil }
