package gallop

// Hijack asks for the connection: handler gets it once the response is written, see
// HijackHandler. Requests that the client sent behind this one are its first bytes.
//
// Hijack cannot fail. If the connection cannot be handed over, as with HTTP/2, the client gets 501 (Not Implemented) instead of the response.
// Call HijackErr first to find out. AcceptStream works over HTTP/2 as well.
func (ctx *RequestCtx) Hijack(handler HijackHandler) { ctx.hijackHandler = handler }

// HijackSetNoResponse makes the server write no response before the connection is
// handed to the handler that Hijack was given.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) { ctx.hijackNoResponse = noResponse }

// HijackHandler returns what Hijack and HijackSetNoResponse were given, for those who serve
// requests themselves. The handler is nil if Hijack was not called.
func (ctx *RequestCtx) HijackHandler() (handler HijackHandler, noResponse bool) {
	return ctx.hijackHandler, ctx.hijackNoResponse
}

// InitHijack says that HijackHandler is looked at, so that Hijack works and HijackErr returns nil. It is for those who serve requests
// themselves.
func (ctx *RequestCtx) InitHijack() { ctx.mayHijack = true }

// HijackErr returns why Hijack would not work, or nil if it would. The error is errors.ErrUnsupported to errors.Is if the protocol has no
// connection to hand over, as with HTTP/2, or if no Server serves the request. Other errors say that the handler has taken the connection
// before or that the request has timed out.
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
