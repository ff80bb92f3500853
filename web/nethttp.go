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

// FromGallop returns a gallop.RequestHandler as a Handler. It panics if h is nil.
func FromGallop(h gallop.RequestHandler) Handler {
	if h == nil {
		panic("web: FromGallop: the handler is nil")
	}
	return func(c *Ctx) error {
		h(c.request)
		return nil
	}
}

// ctxKey is the key of the Ctx in the context of a request of net/http.
type ctxKey struct{}

// CtxOf returns the Ctx of a request that an App has passed to an http.Handler or to middleware of net/http. It is valid
// until that returns. ok is false for other requests.
func CtxOf(r *http.Request) (c *Ctx, ok bool) {
	c, ok = r.Context().Value(ctxKey{}).(*Ctx)
	return c, ok
}

// FromHTTP returns an http.Handler as a Handler; see nethttp.FromHTTP for what it can do, which is all that it can with
// net/http: it may write while it runs, flush, and hijack the connection. Fields of the answer that were set before are
// there still.
//
// The path of its URL is the one that routes see, without dot segments and with one slash for several; RequestURI is
// the target as it came. Parameters of the route are the request's PathValue, and Pattern is that of the route. Its context has what Ctx.SetLocal
// and Ctx.SetContext were given, and ends when the latter does. CtxOf returns the Ctx.
//
// A func(http.ResponseWriter, *http.Request) is an http.Handler as http.HandlerFunc(f). FromHTTP panics if h is nil.
func FromHTTP(h http.Handler) Handler {
	if h == nil {
		panic("web: FromHTTP: the handler is nil")
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

// showRoutedPath makes the path of u the one that routes see. net/http leaves dot segments and
// empty ones in it. A guard that compares such a path would not know which route runs.
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

// prepare returns r as a handler should see it. end has to be called when the handler has returned.
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

// handlerContext is the context that a handler of net/http sees, if SetContext was called: it ends with
// that of the request or with the other one, and has the other one's values as long as the handler runs.
type handlerContext struct {
	context.Context
	mu     sync.Mutex
	values context.Context // nil when the handler has returned
}

// joined returns a context that ends with a or with b. end has to be called when the handler has returned.
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

// withoutPrefix returns a handler that sees what a route with a rest has in it, as the path.
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
