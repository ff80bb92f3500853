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

// TimeoutError answers the request with msg and 408 (Request Timeout), whatever
// ctx.Response becomes. ctx may then be used on, also when the handler has returned:
// the server leaves it to whoever holds it. The connection is closed.
func (ctx *RequestCtx) TimeoutError(msg string) {
	ctx.TimeoutErrorWithCode(msg, StatusRequestTimeout)
}

// TimeoutErrorWithCode is TimeoutError with another status.
func (ctx *RequestCtx) TimeoutErrorWithCode(msg string, statusCode int) {
	var resp Response
	resp.SetStatusCode(statusCode)
	resp.SetBodyString(msg)
	ctx.TimeoutErrorWithResponse(&resp)
}

// TimeoutErrorWithResponse is TimeoutError with a copy of resp for an answer.
func (ctx *RequestCtx) TimeoutErrorWithResponse(resp *Response) {
	kept := &Response{}
	resp.CopyTo(kept)
	ctx.timeout.Store(kept)
}

// LastTimeoutErrorResponse returns the answer that TimeoutError and its kin have set,
// nil if none.
func (ctx *RequestCtx) LastTimeoutErrorResponse() *Response { return ctx.timeout.Load() }

// detach leaves ctx, and the bytes it shows, to a handler that may still run, and
// goes on with a new one that holds the answer.
func (c *serverConn) detach(answer *Response) {
	old := c.ctx
	c.shared = true
	old.life.used.Store(true) // whoever still runs may be about to ask
	c.stopWatching()
	c.body.close() // no handler reads from the connection after this
	old.life.cancel(context.DeadlineExceeded)

	ctx := c.srv.acquireCtx()
	ctx.begin(c)
	answer.CopyTo(&ctx.Response)
	c.ctx = ctx
	c.input.abandon()
	c.close = true
}

// TimeoutHandler returns a handler that calls h and answers 408 (Request Timeout) with
// msg when h has not returned in time. The context that ctx is has that deadline and
// ends with it, but h is not stopped otherwise; what it does to ctx later is seen by
// nobody. While as many calls as the server's Concurrency have timed out and are
// still running, requests are answered 429.
func TimeoutHandler(h RequestHandler, timeout time.Duration, msg string) RequestHandler {
	return TimeoutWithCodeHandler(h, timeout, msg, StatusRequestTimeout)
}

// TimeoutWithCodeHandler is TimeoutHandler with another status.
func TimeoutWithCodeHandler(h RequestHandler, timeout time.Duration, msg string, statusCode int) RequestHandler {
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
		ended := make(chan *handlerPanic, 1)
		go func() {
			defer running.Add(-1)
			ended <- callGuarded(h, ctx)
		}()
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		select {
		case p := <-ended:
			if p != nil {
				panic(p)
			}
		case <-timer.C:
			ctx.TimeoutErrorWithCode(msg, statusCode)
		}
	}
}

// handlerPanic is a panic of a handler on its way to another goroutine.
type handlerPanic struct {
	value any
	stack []byte
}

func (p *handlerPanic) String() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }

// callGuarded calls h and returns its panic. A handler that calls runtime.Goexit
// counts as one that has returned.
func callGuarded(h RequestHandler, ctx *RequestCtx) (p *handlerPanic) {
	defer func() {
		if v := recover(); v != nil {
			p = &handlerPanic{v, debug.Stack()}
		}
	}()
	h(ctx)
	return nil
}
