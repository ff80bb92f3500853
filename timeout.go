package gallop

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// timeoutAnswer is the response that takes the place of ctx.Response when a request
// has timed out. Handler and server may both be at it.
type timeoutAnswer = atomic.Pointer[Response]

// TimeoutError sends msg with status 408 (Request Timeout) instead of ctx.Response, and closes the connection. The
// server then no longer uses ctx, so goroutines that hold it may go on using it after the handler has returned.
func (ctx *RequestCtx) TimeoutError(msg string) {
	ctx.TimeoutErrorWithCode(msg, StatusRequestTimeout)
}

// TimeoutErrorWithCode sends msg with another status. See [RequestCtx.TimeoutError].
func (ctx *RequestCtx) TimeoutErrorWithCode(msg string, statusCode int) {
	var resp Response
	resp.SetStatusCode(statusCode)
	resp.SetBodyString(msg)
	ctx.TimeoutErrorWithResponse(&resp)
}

// TimeoutErrorWithResponse sends a copy of resp. See [RequestCtx.TimeoutError].
func (ctx *RequestCtx) TimeoutErrorWithResponse(resp *Response) {
	kept := &Response{}
	resp.CopyTo(kept)
	l := &ctx.life
	l.mu.Lock()
	l.given = true
	l.mu.Unlock()
	ctx.timeout.Store(kept)
}

// LastTimeoutErrorResponse returns the response that one of the TimeoutError methods or TimeoutHandler has set, or
// nil.
func (ctx *RequestCtx) LastTimeoutErrorResponse() *Response { return ctx.timeout.Load() }

// detach leaves ctx, and the bytes it shows, to a handler that may still run, and
// goes on with a new one that holds the answer.
// It reports whether that cannot be sent, since another response has begun.
func (c *serverConn) detach(answer *Response) (late bool) {
	if c.abandonCtx() {
		return true
	}
	ctx := c.srv.acquireCtx()
	ctx.begin(c)
	ctx.settle(c)
	answer.CopyTo(&ctx.Response)
	c.ctx = ctx
	c.close = true
	return false
}

// abandonCtx leaves ctx to whoever holds it, and reports whether the handler has begun
// the response, or taken the connection. No handler is at the connection after this.
func (c *serverConn) abandonCtx() (begun bool) {
	begun = c.ctx.stream.leave(c) // which is nobody's before it is said that time is up
	c.shared = true
	over := c.ctx.life.leave(context.DeadlineExceeded) // so that nobody begins to watch
	if c.taken {
		begun = true
	} else {
		c.resetDeadlines()
	}
	c.stopWatching()
	c.body.close()
	c.input.abandon()
	if over {
		c.guard("Close", c.ctx.cleanUp)
	}
	c.ctx = nil
	return begun
}

// TimeoutHandler returns a handler that calls h on a goroutine of its own. If h does not return in time, the response
// is msg with status 408 (Request Timeout). ctx, as a context.Context, has this deadline and is done when it passes.
// Nothing else stops h, and what h does to ctx afterwards has no effect.
//
// If as many timed-out calls as the server's Concurrency are still running, further requests get 429.
//
// Handlers that watch their context do not need the goroutine. In package web, middleware.Timeout sets the deadline,
// leaves the handler on its goroutine, and responds with 503 if the handler gives up.
func TimeoutHandler(h RequestHandler, timeout time.Duration, msg string) RequestHandler {
	return TimeoutWithCodeHandler(h, timeout, msg, StatusRequestTimeout)
}

// TimeoutWithCodeHandler returns a handler that limits the time of h and responds with statusCode if h is too slow.
// See [TimeoutHandler]. It panics if statusCode is invalid; see [ResponseHeader.SetStatusCode].
func TimeoutWithCodeHandler(h RequestHandler, timeout time.Duration, msg string, statusCode int) RequestHandler {
	new(Response).SetStatusCode(statusCode) // not when it is too late for a handler to panic
	var running atomic.Int64
	return func(ctx *RequestCtx) {
		if timeout <= 0 {
			h(ctx)
			return
		}
		if int(running.Add(1)) > orDefault(ctx.config().Concurrency, DefaultConcurrency) {
			running.Add(-1)
			ctx.Error(StatusMessage(StatusTooManyRequests), StatusTooManyRequests)
			return
		}
		ctx.life.setDeadline(time.Now().Add(timeout))
		call := timedCall{ended: make(chan *handlerPanic, 1), log: ctx.config().logger()}
		ctx.life.enter()
		go func() {
			defer running.Add(-1)
			call.run(h, ctx)
		}()
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		select {
		case p := <-call.ended:
			p.rethrow()
		case <-timer.C:
			if !call.decided.CompareAndSwap(false, true) { // it has ended just now
				(<-call.ended).rethrow()
				return
			}
			resp := &Response{}
			resp.SetStatusCode(statusCode)
			resp.SetBodyString(msg)
			ctx.timeout.Store(resp)
		}
	}
}

// timedCall is a call of a handler on a goroutine of its own, for as long as somebody
// waits for it.
type timedCall struct {
	decided atomic.Bool // whether it was in time
	ended   chan *handlerPanic
	log     Logger
}

// run calls h. A handler that calls runtime.Goexit counts as one that has returned.
func (c *timedCall) run(h RequestHandler, ctx *RequestCtx) {
	var p *handlerPanic
	defer func() {
		late := !c.decided.CompareAndSwap(false, true)
		if late && p != nil && p.value != ErrAbortHandler {
			c.log.Printf("panic in a handler that has timed out: %s", p)
		}
		if ctx.life.exit() {
			p = callGuarded(func(ctx *RequestCtx) { ctx.cleanUp() }, ctx)
		}
		c.ended <- p
	}()
	p = callGuarded(h, ctx)
}

// handlerPanic is a panic of a handler on its way to another goroutine.
type handlerPanic struct {
	value any
	stack []byte
}

func (p *handlerPanic) rethrow() {
	switch {
	case p == nil:
	case p.value == ErrAbortHandler: // which is no failure, and tells nothing by its stack
		panic(ErrAbortHandler)
	default:
		panic(p)
	}
}

func (p *handlerPanic) String() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }

// callGuarded calls h and returns its panic.
func callGuarded(h RequestHandler, ctx *RequestCtx) (p *handlerPanic) {
	defer func() {
		if v := recover(); v != nil {
			p = &handlerPanic{v, debug.Stack()}
		}
	}()
	h(ctx)
	return nil
}
