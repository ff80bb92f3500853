package middleware

import (
	"context"
	"io"
	"sync"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// proxyCall is one request on its way to a target, and the response on its way back.
type proxyCall struct {
	p       *proxy
	c       *web.Ctx
	to      *gallop.Request
	from    *gallop.Response
	ctx     context.Context // nil until begin
	cancel  context.CancelCauseFunc
	path    string       // the target of the request, without the path of the target's URL
	host    string       // the Host header, or "" for the target's own
	target  *proxyTarget // by Proxy.Target, or nil
	upgrade string       // the protocol that the client asks for, or ""
	body    *proxyBody
	watch   watch

	mu   sync.Mutex
	over bool // the header of the response has arrived, or the call has failed
}

// begin starts the time of the call.
func (x *proxyCall) begin() {
	ctx, cancel := context.WithCancelCause(x.c)
	if x.c.RequestCtx().Request.Header.IsHTTP11() || x.c.RequestCtx().Request.Header.ProtoAtLeast(2, 0) {
		ctx = gallop.WithClientTrace(ctx, &gallop.ClientTrace{GotInterim: x.passInterim})
	}
	x.ctx, x.cancel = callContext{ctx, x}, cancel
	x.watch.limit, x.watch.end = x.p.Timeout, func() { cancel(slowTarget{}) }
	x.watch.wait()
}

// end releases everything that the call holds.
func (x *proxyCall) end() {
	x.answered()
	x.watch.close()
	if x.cancel != nil {
		x.cancel(context.Canceled)
	}
	x.from.CloseBodyStream()
	if x.body != nil {
		x.body.end()
	}
	gallop.ReleaseResponse(x.from)
	gallop.ReleaseRequest(x.to)
}

// answered notes that the header of the final response has arrived. No interim response can follow it.
func (x *proxyCall) answered() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
}

// callContext is the context of a call, in which the target finds the call.
type callContext struct {
	context.Context
	call *proxyCall
}

type callKey struct{}

func (c callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.Context.Value(key)
}

// setBody gives the body to the request for the target. A body that is in memory is sent with a Content-Length. A stream
// keeps its length, or its lack of one.
func (x *proxyCall) setBody() {
	from, to := &x.c.RequestCtx().Request, x.to
	length := from.Header.ContentLength()
	switch {
	case x.upgrade != "":
	case !from.IsBodyStream():
		if body := from.Body(); len(body) > 0 {
			to.SetBodyRaw(body)
		}
	case length == 0 || length == gallop.LengthUntilClose:
	default:
		if from.MayContinue() { // then reading the stream makes the server send 100
			to.Header.Set(gallop.HeaderExpect, "100-continue")
		}
		if length < 0 {
			for name := range from.Header.Trailers() {
				_ = to.Header.AddTrailer(string(name)) // refuses names that must not be trailers
			}
		}
		from.FullDuplex = true
		x.body = &proxyBody{call: x, from: from.BodyStream(), source: &from.Header, to: &to.Header}
		to.SetBodyStream(x.body, length)
		to.FullDuplex = true
	}
}

// proxyBody is the streamed body of a request. The client can still read it after the call has ended.
type proxyBody struct {
	call *proxyCall
	from io.Reader // fails by itself once the handler has returned

	mu         sync.Mutex
	source, to *gallop.RequestHeader // for trailers; nil when the call is over
}

// Read implements io.Reader. While it waits for the client, the time of the target does not run.
func (b *proxyBody) Read(p []byte) (int, error) {
	b.limit((*watch).pause)
	n, err := b.from.Read(p)
	b.limit((*watch).wait)
	switch {
	case err == nil:
	case err == io.EOF:
		b.passTrailers()
	default:
		err = clientBodyError{err}
	}
	return n, err
}

// limit changes the time of the target, unless it has responded: after that, the time limits the response body.
func (b *proxyBody) limit(change func(*watch)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.to == nil {
		return
	}
	x := b.call
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		change(&x.watch)
	}
}

// passTrailers copies the trailers, which have arrived by now. AppendTrailer refuses headers that must not be trailers.
func (b *proxyBody) passTrailers() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.to == nil {
		return
	}
	for name, value := range b.source.AllTrailers() {
		if !isUntrusted(name) {
			_ = b.to.AppendTrailer(string(name), string(value))
		}
	}
	b.to = nil
}

// end detaches the body from a call that is over.
func (b *proxyBody) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.source, b.to = nil, nil
}
