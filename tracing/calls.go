package tracing

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

// call is a call whose attempts are numbered.
type call struct {
	attempts atomic.Int64
	template string
}

type callKey struct{}

// attempt is one attempt of a call.
type attempt struct {
	number   int // 0 for the first
	template string
}

// next returns the next attempt of the call of a context. Attempts of calls that are not numbered are first attempts.
func next(ctx context.Context) (a attempt, template string) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return a, ""
	}
	return attempt{int(c.attempts.Add(1)) - 1, c.template}, c.template
}

// WithTemplate returns a context for one call. Spans of the call are named after the method and the template, such as "GET /users/{id}",
// and have the attribute url.template. A template must not have values, such as the ID of a user. An empty template only numbers the
// attempts: see [Calls].
func WithTemplate(ctx context.Context, template string) context.Context {
	return context.WithValue(ctx, callKey{}, &call{template: template})
}

// Calls returns a Doer that numbers the attempts of each call of next. The attribute http.request.resend_count is 1 for the first retry or
// redirect, 2 for the second, and so on. The client must have a transport from [Client.Transport].
func Calls(next gallop.Doer) gallop.Doer { return numbered{next} }

type numbered struct{ next gallop.Doer }

// DoContext implements gallop.Doer.
func (n numbered) DoContext(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
	if _, done := ctx.Value(callKey{}).(*call); !done {
		ctx = WithTemplate(ctx, "")
	}
	return n.next.DoContext(ctx, req, resp)
}

// RestHook numbers the attempts of each call of a rest.Client. If the path of the request has parameters, as in "users/{id}", spans are
// named after the method and the path. A path without parameters is not part of the name, because it could have values, as in "users/7".
// Pass RestHook to rest.WithRequestHook.
func RestHook(ctx context.Context, r *rest.Request) error {
	_, path := r.Target()
	r.SetContext(WithTemplate(ctx, templateOf(path)))
	return nil
}

// templateOf returns the path of a rest.Request, without a query, if it has parameters.
func templateOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if !strings.Contains(path, "{") {
		return ""
	}
	return path
}
