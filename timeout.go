package gallop

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// timeoutAnswer is the response that replaces ctx.Response after a timeout. Handler and server may access it
// concurrently.
type timeoutAnswer = atomic.Pointer[Response]

// TimeoutError makes the server send msg with status 408 (Request Timeout) instead of ctx.Response, and then close the
// connection. An HTTP/2 connection stays open. The server does not reuse ctx. Goroutines that the handler has started
// may therefore use ctx even after the handler has returned.
func (ctx *RequestCtx) TimeoutError(msg string) {
	ctx.TimeoutErrorWithCode(msg, StatusRequestTimeout)
}

// TimeoutErrorWithCode does the same as [RequestCtx.TimeoutError], but with the status statusCode.
func (ctx *RequestCtx) TimeoutErrorWithCode(msg string, statusCode int) {
	var resp Response
	resp.SetStatusCode(statusCode)
	resp.SetBodyString(msg)
	ctx.TimeoutErrorWithResponse(&resp)
}

// TimeoutErrorWithResponse does the same as [RequestCtx.TimeoutError], but makes the server send a copy of resp.
func (ctx *RequestCtx) TimeoutErrorWithResponse(resp *Response) {
	kept := &Response{}
	resp.CopyTo(kept)
	l := &ctx.life
	l.mu.Lock()
	l.given = true
	l.mu.Unlock()
	ctx.timeout.Store(kept)
}

// LastTimeoutErrorResponse returns the response that TimeoutHandler or one of the TimeoutError methods has set. If
// there is no such response, LastTimeoutErrorResponse returns nil.
func (ctx *RequestCtx) LastTimeoutErrorResponse() *Response { return ctx.timeout.Load() }

// TimeoutHandler returns a handler that calls h on a separate goroutine. If h does not return within timeout, the
// response is msg with status 408 (Request Timeout). When timeout has passed, the RequestCtx is done, so h can notice
// the timeout with ctx.Done. A handler that does not watch ctx.Done continues to run after the timeout. Changes that h
// makes to ctx after the timeout have no effect.
//
// At most Server.Concurrency calls of h run at the same time. The limit includes calls that are still running after
// their timeout. Requests beyond the limit get 429 (Too Many Requests).
//
// For handlers that watch their context, package web has middleware.Timeout, which sets the context's deadline without
// starting a goroutine. If a handler returns because the deadline of its context has passed, the response has the
// status 503.
func TimeoutHandler(h RequestHandler, timeout time.Duration, msg string) RequestHandler {
	return TimeoutWithCodeHandler(h, timeout, msg, StatusRequestTimeout)
}

// TimeoutWithCodeHandler does the same as [TimeoutHandler], but the status of the timeout response is statusCode. If
// statusCode is invalid, TimeoutWithCodeHandler panics (see [ResponseHeader.SetStatusCode]).
func TimeoutWithCodeHandler(h RequestHandler, timeout time.Duration, msg string, statusCode int) RequestHandler {
	new(Response).SetStatusCode(statusCode) // panics now rather than during a request
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
			if !call.decided.CompareAndSwap(false, true) { // the handler has just returned
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

// timedCall is a call of a handler on its own goroutine, while TimeoutHandler waits for it.
type timedCall struct {
	decided atomic.Bool // whether it was in time
	ended   chan *handlerPanic
	log     Logger
}

// exitedHandler stands for a handler that called runtime.Goexit. Its response is not complete, so it is aborted, as without TimeoutHandler.
var exitedHandler = &handlerPanic{value: ErrAbortHandler}

// run calls h.
func (c *timedCall) run(h RequestHandler, ctx *RequestCtx) {
	p := exitedHandler
	defer func() {
		late := !c.decided.CompareAndSwap(false, true)
		if late && p != nil && !isAbort(p.value) {
			c.log.Printf("panic in a handler that has timed out: %s", p)
		}
		if ctx.life.exit() {
			p = callGuarded(func(ctx *RequestCtx) { ctx.cleanUp() }, ctx)
		}
		c.ended <- p
	}()
	p = callGuarded(h, ctx)
}

// handlerPanic carries a panic of a handler to another goroutine.
type handlerPanic struct {
	value any
	stack []byte
}

func (p *handlerPanic) rethrow() {
	switch {
	case p == nil:
	case isAbort(p.value): // the stack is of no interest
		panic(p.value)
	default:
		panic(p)
	}
}

func (p *handlerPanic) String() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }

// callGuarded calls h and returns its panic, if any.
func callGuarded(h RequestHandler, ctx *RequestCtx) (p *handlerPanic) {
	defer func() {
		if v := recover(); v != nil {
			p = &handlerPanic{v, debug.Stack()}
		}
	}()
	h(ctx)
	return nil
}
