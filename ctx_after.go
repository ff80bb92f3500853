package gallop

// AfterFunc registers a function f. The server calls f on a separate goroutine once the channel that Done returns is
// closed, so also when the handler has returned. If the channel is closed already, the server calls f immediately. The
// function f must not use ctx.
//
// Package context calls AfterFunc for contexts that are derived from ctx. Without this method, it would start a goroutine for
// each call of context.WithCancel, context.WithTimeout or context.AfterFunc. To run a function only when the request is
// cancelled, use OnDisconnect.
//
// The server calls each registered function at most once. If f panics, the server logs the panic. stop unregisters f and
// returns true. If f was already called, or if stop was called before, stop returns false. Any goroutine may call AfterFunc
// before the handler returns. Any goroutine may call stop at any time.
func (ctx *RequestCtx) AfterFunc(f func()) (stop func() bool) {
	ctx.Done() // f runs once this channel is closed, and the server does not reuse ctx
	l := &ctx.life
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &disconnect{f: func(error) { f() }, log: ctx.config().logger(), next: l.after}
	d.life.Store(l)
	l.after = d
	if l.err != nil {
		callAll(&l.after, l.err)
	}
	return d.stop
}
