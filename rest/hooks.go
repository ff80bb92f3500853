package rest

import (
	"fmt"
	"time"
)

// WithRequestHook has f called with every request of Do and Open, before anything else is done with it: f may set what
// it likes, and what it returns is the error of the call, which then does not go to the network. Hooks are called in
// the order of their options, by many goroutines, and once a call: what is sent again, and what follows a redirect, is the same call.
func WithRequestHook(f func(*Request) error) Option {
	return func(c *Client) error {
		if f == nil {
			return fmt.Errorf("%w: WithRequestHook(nil)", errOption)
		}
		c.before = append(c.before, f)
		return nil
	}
}

// WithResponseHook has f called at the end of every call: when the head of the last answer is there, or with the
// error. resp may be nil; its Body is the caller's and not for f.
func WithResponseHook(f func(r *Request, resp *Response, err error)) Option {
	return func(c *Client) error {
		if f == nil {
			return fmt.Errorf("%w: WithResponseHook(nil)", errOption)
		}
		c.after = append(c.after, f)
		return nil
	}
}

// Target returns method and path as they were set. The path may have parameters.
func (r *Request) Target() (method, path string) { return r.method, r.path }

// Header returns the first header field with the name that was set, "" if none was.
func (r *Request) Header(name string) string {
	value, _ := r.headers.get(name, foldName)
	return value
}

// SetTimeout sets how long the call may take, in the place of WithTimeout. Zero is that again, and
// a negative time no limit but that of the context.
func (r *Request) SetTimeout(d time.Duration) *Request {
	r.timeout = d
	return r
}

// SetRedirects sets how many redirects the call follows, in the place of WithRedirects.
func (r *Request) SetRedirects(most int) *Request {
	r.redirects = 1 + max(most, 0)
	return r
}
