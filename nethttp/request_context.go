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
	done   chan struct{}      // made by the first call of Done
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
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	c.watch()
	return c.done
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
	if c.done != nil {
		close(c.done)
	}
}

// end ends the context, and lets go of what is the server's. As in net/http, values of Server.BaseContext and ConnContext stay.
func (c *requestContext) end() {
	c.cancel(context.Canceled)
	c.mu.Lock()
	c.parent, c.ctx = c.ctx.Parent(), nil
	c.mu.Unlock()
}
