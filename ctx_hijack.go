package gallop

// Hijack hands the connection to handler after the response has been written. See [HijackHandler]. If the client has
// already sent more bytes after the request, handler reads these bytes first.
//
// Hijack returns no error. If the connection cannot be handed over, as with HTTP/2, the server sends 501 (Not
// Implemented) instead of the handler's response. To check in advance, call HijackErr. Unlike Hijack, AcceptStream will
// also work over HTTP/2.
func (ctx *RequestCtx) Hijack(handler HijackHandler) { ctx.hijackHandler = handler }

// HijackSetNoResponse sets whether Hijack and HijackConn omit the response. By default, the server writes the response
// before it hands over the connection.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) { ctx.hijackNoResponse = noResponse }

// HijackHandler returns the values that were passed to Hijack and HijackSetNoResponse. HijackHandler is meant for
// programs that serve requests themselves. If Hijack was not called, handler is nil.
func (ctx *RequestCtx) HijackHandler() (handler HijackHandler, noResponse bool) {
	return ctx.hijackHandler, ctx.hijackNoResponse
}

// InitHijack makes HijackErr return nil. InitHijack is meant for programs that serve requests themselves and that call
// HijackHandler after the handler has returned.
func (ctx *RequestCtx) InitHijack() { ctx.mayHijack = true }

// HijackErr returns nil if a call of Hijack would work, and an error otherwise. If the protocol does not allow handing
// over the connection, as with HTTP/2, the error wraps errors.ErrUnsupported. If the request is not served by a Server,
// the error wraps errors.ErrUnsupported too. Any other error means that the handler has already hijacked the
// connection, or that the request has timed out.
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
