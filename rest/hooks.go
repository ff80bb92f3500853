package rest

import (
	"context"
	"fmt"
	"time"
)

// WithRequestHook makes the client call f at the start of every call of Do and Open. The ctx argument is the context
// of the call, including the timeout. The function f may change the request. If f returns an error, nothing is sent,
// and Do or Open returns this error.
//
// To change the context of the call, for example to add a trace span, derive a context from ctx and pass it to
// [Request.SetContext]. After the call, the client restores the request's original context.
//
// Each call of Do or Open runs every request hook once, in the order of the options. Retries and redirects do not
// run the hooks again. Hooks must be safe for concurrent use.
func WithRequestHook(f func(ctx context.Context, r *Request) error) Option {
	return option(func(c *Client) error {
		if f == nil {
			return fmt.Errorf("%w: WithRequestHook(nil)", errOption)
		}
		c.before = append(c.before, f)
		return nil
	})
}

// WithResponseHook makes the client call f when the header of the final response has arrived, or when the call has
// failed. r.Context returns the context of the call, including any change by a request hook. If the call failed, resp
// can be nil. The function f must not read resp.Body.
func WithResponseHook(f func(r *Request, resp *Response, err error)) Option {
	return option(func(c *Client) error {
		if f == nil {
			return fmt.Errorf("%w: WithResponseHook(nil)", errOption)
		}
		c.after = append(c.after, f)
		return nil
	})
}

// Target returns the method and the path exactly as they were set. The path therefore contains the names of its
// parameters instead of their values.
func (r *Request) Target() (method, path string) { return r.method, r.path }

// Header returns the first value of a header that was set on the request, or "" if the header is not set.
func (r *Request) Header(name string) string {
	value, _ := r.headers.get(name, foldName)
	return value
}

// Context returns the context that NewRequest or SetContext set, or context.Background. In a hook, Context returns the
// context of the call, which has the call's timeout.
func (r *Request) Context() context.Context { return r.ctx }

// Body returns the unencoded body that was passed to NewRequest or SetBody. After SetBodyReader, Body returns the
// io.Reader. If the request has no body, Body returns nil. Form returns the fields of a form.
func (r *Request) Body() any {
	if body, ok := r.body.(sized); ok {
		return body.Reader
	}
	return r.body
}

// SetTimeout limits how long the call may take, overriding [WithTimeout]. If d is 0, the client's timeout applies
// again. If d is negative, only the deadline of the context limits the call.
func (r *Request) SetTimeout(d time.Duration) *Request {
	r.timeout = d
	return r
}

// SetRedirects sets how many redirects the call follows, overriding [WithRedirects]. If the argument is 0 or negative,
// the call follows no redirects.
func (r *Request) SetRedirects(most int) *Request {
	r.redirects = 1 + max(most, 0)
	return r
}
