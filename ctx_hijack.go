package gallop

// Hijack hands the connection to handler once the response is written. See [HijackHandler]. If the client has
// already sent further requests, they are the first bytes that handler reads.
//
// Hijack cannot fail. If the connection cannot be handed over, as with HTTP/2, the client gets 501 (Not
// Implemented) instead of the response. Call HijackErr first to find out. AcceptStream works over HTTP/2 as
// well.
func (ctx *RequestCtx) Hijack(handler HijackHandler) { ctx.hijackHandler = handler }

// HijackSetNoResponse controls whether the server skips the response before it hands the connection over. The
// default is to write the response.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) { ctx.hijackNoResponse = noResponse }

// HijackHandler returns the arguments of Hijack and HijackSetNoResponse. It is meant for programs that serve
// requests themselves. handler is nil if Hijack was not called.
func (ctx *RequestCtx) HijackHandler() (handler HijackHandler, noResponse bool) {
	return ctx.hijackHandler, ctx.hijackNoResponse
}

// InitHijack announces that the program calls HijackHandler after the handler, so that HijackErr returns nil.
// It is meant for programs that serve requests themselves.
func (ctx *RequestCtx) InitHijack() { ctx.mayHijack = true }

// HijackErr returns the reason why Hijack would not work, or nil if it would. The error wraps
// errors.ErrUnsupported if the protocol has no connection to hand over, as with HTTP/2, or if no Server serves
// the request. Other errors say that the handler has already taken the connection or that the request has timed
// out.
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
