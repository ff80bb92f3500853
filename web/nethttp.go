package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// FromGallop returns a Handler that calls h and then returns nil. FromGallop panics if h is nil.
func FromGallop(h gallop.RequestHandler) Handler {
	if h == nil {
		panic("web: FromGallop: the handler is nil: pass a gallop.RequestHandler")
	}
	return func(c *Ctx) error {
		h(c.request)
		return nil
	}
}

// ctxKey is the key of the Ctx in the context of a request of net/http.
type ctxKey struct{}

// CtxOf returns the Ctx of a request that an App has passed to an http.Handler or to net/http middleware. The Ctx is valid until
// that handler or middleware returns. The result ok is false if r does not come from an App.
func CtxOf(r *http.Request) (c *Ctx, ok bool) {
	c, ok = r.Context().Value(ctxKey{}).(*Ctx)
	return c, ok
}

// FromHTTP returns a Handler that calls h and then returns nil. The handler h can do everything that net/http allows, including
// streaming, flushing and hijacking the connection: see [nethttp.FromHTTP]. To pass a function, convert it to http.HandlerFunc.
//
//   - Response headers that were set on the Ctx before h runs stay set.
//   - The URL has the path that the router compares with patterns, without dot segments and repeated slashes. RequestURI is the
//     request target exactly as the server received it.
//   - PathValue returns the parameters of the route, and Pattern is the method, host and path pattern of the route.
//   - The context of the request has the values of Ctx.SetLocal. If Ctx.SetContext set a context, the request has the values
//     of that context, too. When that context is done, the request's context is canceled.
//   - [CtxOf] returns the Ctx.
//
// FromHTTP panics if h is nil.
func FromHTTP(h http.Handler) Handler {
	if h == nil {
		panic("web: FromHTTP: the handler is nil: pass an http.Handler")
	}
	serve := nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := CtxOf(r)
		c.showRoutedPath(r.URL)
		r, end := c.prepare(r)
		defer end()
		h.ServeHTTP(w, r)
	}))
	return func(c *Ctx) error {
		if l := c.layer; l != nil {
			r, end := c.prepare(l.r)
			defer end()
			defer l.leave()()
			h.ServeHTTP(l.w, r)
			return nil
		}
		c.request.SetUserValue(ctxKey{}, c)
		serve(c.request)
		return nil
	}
}

// showRoutedPath sets the path of u to the one that routes are matched against. net/http keeps dot segments and empty segments. A
// check that compares such a path could come to a different result than the router.
func (c *Ctx) showRoutedPath(u *url.URL) {
	uri := c.request.URI()
	if uri.DisablePathNormalizing || !strings.Contains(u.Path, "//") && !strings.Contains(u.Path, "/.") {
		return
	}
	raw, _, _ := strings.Cut(string(uri.RequestURI()), "?")
	for strings.Contains(raw, "//") {
		raw = strings.ReplaceAll(raw, "//", "/")
	}
	if routed, err := url.ParseRequestURI(raw); err == nil {
		u.Path, u.RawPath = routed.Path, routed.RawPath
	}
}

// prepare returns r with the context, pattern and path values for a handler. The caller calls end when the handler has returned.
func (c *Ctx) prepare(r *http.Request) (prepared *http.Request, end func()) {
	end = func() {}
	if set := c.context.Load(); set != nil && set.own {
		ctx := &handlerContext{values: set.Context}
		ctx.Context, end = joined(r.Context(), set.Context, ctx)
		r = r.WithContext(ctx)
	}
	if c.route != nil {
		r.Pattern = c.route.describe()
		for _, name := range c.route.params {
			r.SetPathValue(name, c.Params(name))
		}
	}
	return r, end
}

// handlerContext is the context of a net/http request if SetContext was called. It is done when the context of the request or the
// one of SetContext is done. While the handler runs, it has the values of both.
type handlerContext struct {
	context.Context
	mu     sync.Mutex
	values context.Context // nil when the handler has returned
}

// joined returns a context that is done when a or b is. The caller calls end when the handler has returned.
func joined(a, b context.Context, c *handlerContext) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(a)
	stop := context.AfterFunc(b, func() { cancel(b.Err()) })
	return ctx, func() {
		stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.values = nil
		cancel(context.Canceled)
	}
}

// Value implements context.Context.
func (c *handlerContext) Value(key any) any {
	c.mu.Lock()
	values := c.values
	c.mu.Unlock()
	if values != nil {
		if v := values.Value(key); v != nil {
			return v
		}
	}
	return c.Context.Value(key)
}

// Deadline implements context.Context.
func (c *handlerContext) Deadline() (time.Time, bool) {
	deadline, ok := c.Context.Deadline()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		return deadline, ok
	}
	if other, there := c.values.Deadline(); there && (!ok || other.Before(deadline)) {
		return other, true
	}
	return deadline, ok
}

// Err implements context.Context.
func (c *handlerContext) Err() error {
	err := c.Context.Err()
	if err != nil && context.Cause(c.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

// withoutPrefix returns a handler that passes requests to h with the value of the parameter "*" as the path.
func withoutPrefix(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := CtxOf(r)
		within := *r
		below := *r.URL
		below.Path, below.RawPath = "/"+c.Params("*"), ""
		within.URL = &below
		h.ServeHTTP(w, &within)
	})
}
