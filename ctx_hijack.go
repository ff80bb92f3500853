package gallop

// Hijack hands the connection to handler once the response has been written. See [HijackHandler]. If the client has
// already sent more requests, handler reads them first.
//
// Hijack cannot fail. If the connection cannot be handed over, as with HTTP/2, the client gets 501 (Not Implemented)
// instead of the response. To check in advance, call HijackErr. AcceptStream will also work over HTTP/2.
func (ctx *RequestCtx) Hijack(handler HijackHandler) { ctx.hijackHandler = handler }

// HijackSetNoResponse controls whether the server hands the connection over without writing a response. By default it
// writes the response first.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) { ctx.hijackNoResponse = noResponse }

// HijackHandler returns the values that were passed to Hijack and HijackSetNoResponse. It is meant for programs that
// serve requests themselves. handler is nil if Hijack was not called.
func (ctx *RequestCtx) HijackHandler() (handler HijackHandler, noResponse bool) {
	return ctx.hijackHandler, ctx.hijackNoResponse
}

// InitHijack declares that the program will call HijackHandler after the handler returns, so that HijackErr returns
// nil. It is meant for programs that serve requests themselves.
func (ctx *RequestCtx) InitHijack() { ctx.mayHijack = true }

// HijackErr returns an error if Hijack would not work, and nil if it would. The error wraps errors.ErrUnsupported if
// the protocol has no connection to hand over, as with HTTP/2, or if the request is not served by a Server. Other
// errors mean that the handler has already taken the connection or that the request has timed out.
func (ctx *RequestCtx) HijackErr() error {
	if ctx.mayHijack {
		return nil
	}
	ctx.stream.mu.Lock()
	defer ctx.stream.mu.Unlock()
	_, err := ctx.owned()
	return err
}

// Hijacked reports whether Hijack was called.
func (ctx *RequestCtx) Hijacked() bool { return ctx.hijackHandler != nil }
